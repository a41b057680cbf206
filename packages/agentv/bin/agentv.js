#!/usr/bin/env node
// Runs the program that came with this platform's package. Nothing is downloaded: npm has chosen the package, among the
// optional dependencies, by `os` and `cpu`.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';

// As `agentv` itself ends when it could not do its work.
const COULD_NOT_RUN = 3;

const platform = `${process.platform}-${process.arch}`;
const args = process.argv.slice(2);

function locate() {
  try {
    return createRequire(import.meta.url).resolve(`agentv-rs-${platform}/bin/agentv`);
  } catch {
    process.stderr.write(
      `error: the package agentv-rs-${platform} is not there, which holds the program for this platform\n` +
        '  help: install without `--omit=optional`; if there is no such package, build it: ' +
        'cargo install --path crates/agentv-cli\n',
    );
    process.exit(COULD_NOT_RUN);
  }
}

// Where Node cannot give its place to the program, it stays beside it and hands everything on.
function accompany(program) {
  const child = spawn(program, args, { stdio: 'inherit' });
  child.on('error', (error) => {
    process.stderr.write(`error: ${program} cannot be run: ${error.message}\n`);
    process.exit(COULD_NOT_RUN);
  });
  // Ctrl-C at a terminal reaches the program, too, and for it a second one would mean "at once".
  const atTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !atTerminal) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // Ends as it ended. Should that be survived, then at least with the code that a shell would show.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
  });
}

const program = locate();
if (typeof process.execve === 'function') {
  // It is still said to be experimental, on stderr, which is the program's.
  process.removeAllListeners('warning');
  try {
    process.execve(program, [program, ...args], process.env);
  } catch {
    accompany(program);
  }
} else {
  accompany(program);
}
