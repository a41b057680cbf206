"""Is the answer brief, and does a model find it polite?"""

from agentv_eval import CodeJudgePayload, CodeJudgeResult, code_judge, create_target_client


@code_judge
def judge(payload: CodeJudgePayload) -> CodeJudgeResult:
    result = CodeJudgeResult(0)
    limit = (payload.config or {}).get("max_words", 50)
    words = len(payload.candidate_answer.split())
    (result.hits if words <= limit else result.misses).append(f"{words} words; at most {limit}")

    # Without `target: true` on the evaluator there is no client, and only the words count.
    client = create_target_client()
    if client:
        answer = client.invoke(f"Is this polite? Answer yes or no.\n\n{payload.candidate_answer}").raw_text or ""
        polite = answer.lower().startswith("yes")
        (result.hits if polite else result.misses).append(f"polite? {answer}")
        result.details = {"asked": client.get_info().target_name}

    result.score = len(result.hits) / (len(result.hits) + len(result.misses))
    return result
