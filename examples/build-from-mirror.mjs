// A build that may reach a package mirror and nothing else: all that its packages run while they are installed can fetch
// nothing from other places, and send nothing anywhere.
//
// NPM_MIRROR and PACKAGE name the registry and what is installed. MIRROR_TOKEN, where it is given, is sent to the mirror alone
// and is not seen inside. Where network settings are not enforced, creating fails, and says so.
import { setTimeout as pause } from 'node:timers/promises';
import { Client, secret } from '@svc/sdk';

const mirror = new URL(process.env.NPM_MIRROR ?? 'https://registry.npmjs.org/');
const packageName = process.env.PACKAGE ?? 'left-pad';
const token = process.env.MIRROR_TOKEN;

const client = new Client();
const name = `mirror-${Date.now()}`;
if (token !== undefined) await client.secrets.create({ name, value: token });

let sandbox;
try {
  sandbox = await client.sandboxes.create({
    network: {
      denyOut: ['0.0.0.0/0'],
      allowOut: [mirror.hostname],
      ...(token === undefined
        ? {}
        : {
            rules: {
              [mirror.hostname]: [{ transform: { headers: { Authorization: `Bearer ${secret(name)}` } } }],
            },
          }),
    },
  });
  const build = `npm install --no-audit --no-fund --fetch-retries=0 --registry=${mirror.href} ${packageName}`;
  await sandbox.commands.run(`mkdir -p build && cd build && npm init -y && ${build}`, { timeoutMs: 120_000 });
  const { stdout } = await sandbox.commands.run(
    `node -p "'installed: ' + require('./build/node_modules/${packageName}/package.json').name"`,
  );
  console.log(stdout.trim());

  const elsewhere = await sandbox.commands.run('curl -sS -m 20 https://collector.example.com/', {
    check: false,
  });
  console.log(`elsewhere: ${elsewhere.exitCode === 0 ? 'reached' : 'refused'}`);

  // Reports come once a second.
  for (const until = Date.now() + 20_000; ; await pause(250)) {
    const { destinations } = await sandbox.egress();
    const told = (host) => destinations.find((destination) => destination.host === host);
    const denied = told('collector.example.com');
    if (denied === undefined && Date.now() < until) continue;
    console.log(`mirror: ${told(mirror.hostname)?.rule}`);
    console.log(`collector.example.com: denied ${denied?.denied} times by ${denied?.rule}`);
    break;
  }
} finally {
  await sandbox?.kill();
  if (token !== undefined) await client.secrets.delete(name);
}
