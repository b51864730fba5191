// Serves a page inside the sandbox and fetches it from outside.
import { Sandbox } from '@svc/sdk';

const sandbox = await Sandbox.create();
try {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  await sandbox.files.write('site/index.html', '<h1>Hello from the sandbox</h1>');
  await sandbox.commands.start(`python3 -m http.server ${port} --bind 127.0.0.1 --directory site`);

  let response;
  for (let attempt = 0; attempt < 100; attempt++) {
    response = await sandbox.fetch(port, '/');
    if (response.status !== 502) break; // 502: nothing listens yet
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  console.log(`${response.status} ${response.headers.get('content-type')}`);
  console.log(await response.text());
} finally {
  await sandbox.kill();
}
