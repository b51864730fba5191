// Builds a template with a file, a variable and a server that must answer before the template counts as ready.
import { Client, Template } from '@svc/sdk';

const client = new Client();
const port = 20_000 + Math.floor(Math.random() * 12_000);
const template = Template.from('base')
  .env({ GREETING: 'hello' })
  .run('mkdir -p site && echo "$GREETING from the build" > site/index.html')
  .start(
    `python3 -m http.server ${port} --bind 127.0.0.1 --directory site`,
    `python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:${port}/')"`,
  );

const name = `greeter-${process.pid}`;
const build = await client.templates.build(template, { name });
for await (const entry of build.logs()) console.log(`[${entry.step ?? 'build'}] ${entry.message}`);
const done = await build.wait();
console.log(`built: ${done.status}`);

const sandbox = await client.sandboxes.create({ template: name });
try {
  const page = await sandbox.fetch(port, '/');
  console.log(`${page.status} ${(await page.text()).trim()}`);
} finally {
  await sandbox.kill();
  await client.templates.delete(name);
}
