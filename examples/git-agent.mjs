// An agent works on a private repository with a token that it never sees: the platform puts it into requests to that host
// on their way out, for git and for everything else in the sandbox.
//
// GIT_URL and GIT_TOKEN name the repository and the token. Where network settings are not enforced, cloning fails, and says so.
import { Client, GitError, secret } from '@svc/sdk';

const url = process.env.GIT_URL ?? 'https://github.com/acme/app.git';
const token = process.env.GIT_TOKEN ?? 'ghp_token-of-the-repository';

const client = new Client();
const name = `git-token-${Date.now()}`;
await client.secrets.create({ name, value: token });

let sandbox;
try {
  sandbox = await client.sandboxes.create({
    network: { denyOut: ['0.0.0.0/0'], allowOut: [new URL(url).hostname] },
  });
  const { git } = sandbox;
  const { path } = await git.clone(url, { credential: secret(name), path: 'work' });
  const at = { cwd: path };
  console.log(`cloned: ${(await git.log(at)).map(({ message }) => message).join(', ')}`);

  // The agent's work.
  await git.checkout('agent/notes', { ...at, create: true });
  await sandbox.files.write(`${path}/NOTES.md`, '# Notes\n\nWritten by an agent.\n');
  await git.add(['NOTES.md'], at);
  const author = { name: 'Agent', email: 'agent@example.com' };
  const { commit } = await git.commit('Add notes', { ...at, author });
  const [pushed] = await git.push(at);
  console.log(`pushed: ${pushed.ref} ${pushed.change} ${commit.slice(0, 7)}`);

  // Plain git works as well, and a failure has a reason.
  const { stdout } = await sandbox.commands.run('git ls-remote --heads origin | cut -f 2', at);
  console.log(`on the server: ${stdout.trim().replaceAll('\n', ', ')}`);
  const again = await git.commit('Add nothing', { ...at, author }).catch((error) => error);
  if (GitError.is(again)) console.log(`nothing more: ${again.reason}`);

  const look = 'grep -r -F -c -e "$1" .git /proc/self/environ | grep -v ":0$" || echo nowhere';
  const found = await sandbox.commands.run(`sh -c '${look}' sh ${token.slice(0, 4)}`, at);
  console.log(`the token is in: ${found.stdout.trim()}`);
} finally {
  await sandbox?.kill();
  await client.secrets.delete(name);
}
