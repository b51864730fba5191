// Runs in a network of its own and keeps it alive: brings its loopback interface up, and hands over listeners in it, one for each
// port that is asked for.
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';

execFileSync('ip', ['link', 'set', 'lo', 'up']);
process.on('message', (port) => {
  const listener = createServer();
  listener.listen(port, '127.0.0.1', () => {
    process.send('listening', listener, () => listener.close());
  });
});
process.on('disconnect', () => process.exit());
process.send('ready');
