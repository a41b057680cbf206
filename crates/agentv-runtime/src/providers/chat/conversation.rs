//! A request as chat APIs take it: one system text, then turns of two speakers.

use agentv_core::Request;
use agentv_core::prompt::guidelines_block;

/// What the model is told where there is no other system prompt.
const DEFAULT_SYSTEM: &str = "You are a careful assistant: follow every instruction you are given, and never make up facts that you do not know.";

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::providers) struct Conversation {
    pub system: String,
    pub turns: Vec<ChatTurn>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::providers) struct ChatTurn {
    pub speaker: Speaker,
    pub text: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum Speaker {
    User,
    Assistant,
}

impl Conversation {
    pub(in crate::providers) fn of(request: &Request) -> Self {
        let own = request.system_prompt.as_deref().unwrap_or(DEFAULT_SYSTEM);
        match &request.chat {
            // Guidelines are part of its system message already.
            Some(chat) => {
                let is_system = |role: &str| role == "system";
                let system: Vec<&str> = chat
                    .iter()
                    .filter(|message| is_system(&message.role))
                    .map(|message| message.content.as_str())
                    .collect();
                let turns = chat.iter().filter(|message| !is_system(&message.role));
                Self {
                    system: if system.is_empty() { own.to_owned() } else { system.join("\n\n") },
                    turns: turns
                        .map(|message| ChatTurn::of(&message.role, &message.content))
                        .collect(),
                }
            }
            None => Self {
                system: match request.guidelines.trim() {
                    "" => own.to_owned(),
                    guidelines => format!("{own}\n\n{}", guidelines_block(guidelines)),
                },
                turns: vec![ChatTurn::of("user", request.question.trim())],
            },
        }
    }
}

impl ChatTurn {
    fn of(role: &str, text: &str) -> Self {
        match role {
            "assistant" => Self { speaker: Speaker::Assistant, text: text.to_owned() },
            // APIs refuse a tool's message without the call that it answers.
            "tool" | "function" => {
                Self { speaker: Speaker::Assistant, text: format!("@[Tool]: {text}") }
            }
            _ => Self { speaker: Speaker::User, text: text.to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentv_core::EvalId;
    use agentv_wire::ChatMessage;

    fn request(question: &str) -> Request {
        Request::plain(&EvalId::from("e"), question.to_owned())
    }

    fn chat(messages: &[(&str, &str)]) -> Request {
        let message = |(role, content): &(&str, &str)| ChatMessage {
            role: (*role).to_owned(),
            content: (*content).to_owned(),
        };
        Request {
            chat: Some(messages.iter().map(message).collect()),
            guidelines: "must not be added again".to_owned(),
            ..request("q")
        }
    }

    fn user(text: &str) -> ChatTurn {
        ChatTurn { speaker: Speaker::User, text: text.to_owned() }
    }

    fn assistant(text: &str) -> ChatTurn {
        ChatTurn { speaker: Speaker::Assistant, text: text.to_owned() }
    }

    #[test]
    fn a_question_gets_the_default_system_text() {
        let said = Conversation::of(&request("  Why?\n"));
        assert_eq!((said.system.as_str(), said.turns), (DEFAULT_SYSTEM, vec![user("Why?")]));
    }

    #[test]
    fn guidelines_stand_under_their_heading() {
        let asked = Request { guidelines: "Be brief.".to_owned(), ..request("q") };
        let said = Conversation::of(&asked);
        assert_eq!(said.system, format!("{DEFAULT_SYSTEM}\n\n[[ ## Guidelines ## ]]\n\nBe brief."));
    }

    #[test]
    fn a_judge_brings_its_own_system_text() {
        let asked = Request { system_prompt: Some("Grade.".to_owned()), ..request("q") };
        assert_eq!(Conversation::of(&asked).system, "Grade.");
        let asked = Request { system_prompt: Some("Grade.".to_owned()), ..chat(&[("user", "q")]) };
        assert_eq!(Conversation::of(&asked).system, "Grade.");
    }

    #[test]
    fn a_conversation_with_a_system_message_is_used_as_it_is() {
        let asked = chat(&[("system", "S"), ("user", "a"), ("assistant", "b"), ("user", "c")]);
        let said = Conversation::of(&asked);
        assert_eq!(said.system, "S");
        assert_eq!(said.turns, [user("a"), assistant("b"), user("c")]);
    }

    #[test]
    fn without_a_system_message_the_default_is_put_first() {
        assert_eq!(Conversation::of(&chat(&[("user", "a")])).system, DEFAULT_SYSTEM);
    }

    #[test]
    fn what_a_tool_said_is_told_by_the_assistant() {
        let said = Conversation::of(&chat(&[("user", "a"), ("tool", "out"), ("function", "f")]));
        assert_eq!(said.turns, [user("a"), assistant("@[Tool]: out"), assistant("@[Tool]: f")]);
    }
}
