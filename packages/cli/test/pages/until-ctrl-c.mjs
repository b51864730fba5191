// Runs a command that runs until Ctrl+C, and presses that as soon as the command says that it is at work.
import { spawn } from 'node:child_process';

/** Lines of a command at work. Of others any output will do. */
const AT_WORK = [
  [/\bserver up\b/, /^Ready\./m],
  [/\bsync\b/, /Both sides are followed/],
];

const [file, ...args] = process.argv.slice(2);
const command = [file, ...args].join(' ');
const atWork = AT_WORK.find(([name]) => name.test(command))?.[1] ?? /./;

const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
let output = '';
let isInterrupted = false;
for (const [from, to] of [
  [child.stdout, process.stdout],
  [child.stderr, process.stderr],
]) {
  from.on('data', (data) => {
    to.write(data);
    output += data;
    if (isInterrupted || !atWork.test(output)) return;
    isInterrupted = true;
    child.kill('SIGINT');
  });
}
child.on('close', (code, signal) => {
  const hasEndedWell = isInterrupted && (code === 0 || code === 130 || signal === 'SIGINT');
  if (!hasEndedWell) console.error(`${command}: ended with ${signal ?? code}, at work: ${isInterrupted}`);
  process.exitCode = hasEndedWell ? 0 : 1;
});
