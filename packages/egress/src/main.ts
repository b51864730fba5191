import { readOptions } from './start/read-options.js';
import { startEgress } from './start/start-egress.js';

// Everything that faces sandboxes handles its own errors. What comes here is a defect: end, so that nothing passes until
// its parent starts it anew.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${JSON.stringify({ level: 'error', message: 'defect', stack: error.stack })}\n`);
  process.exit(70);
});

// The program that started this has the other end of its standard input.
process.stdin.on('error', () => process.exit(0));
process.stdin.once('end', () => process.exit(0));
process.stdin.resume();

startEgress(readOptions(process.argv.slice(2))).then(
  ({ port }) => process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`),
  (error: Error) => {
    process.stderr.write(`${JSON.stringify({ level: 'error', message: error.message })}\n`);
    process.exit(1);
  },
);
