// Measures the built daemon beside a bare Node HTTP server and a bare spawn, in turns, so that a busy machine slows all
// of them alike. `node bench.mjs [--rounds N] [--runs N] [--memory-runs N] [name=path/to/envd.cjs ...]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { daemonProgram } from './location.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '15' },
    runs: { type: 'string', default: '200' },
    'memory-runs': { type: 'string', default: '1000' },
  },
});
const rounds = Number(values.rounds);
const runs = Number(values.runs);
const memoryRuns = Number(values['memory-runs']);
const daemons = new Map(positionals.map((text) => text.split('=', 2)));
if (daemons.size === 0) daemons.set('envd', daemonProgram.entry);

const home = mkdtempSync(join(tmpdir(), 'envd-bench-'));
const bare = join(home, 'bare.cjs');
writeFileSync(
  bare,
  `const server = require('node:http').createServer((_, response) => response.writeHead(204).end());
server.listen(0, '127.0.0.1', () => {
  const { writeSync, closeSync } = require('node:fs');
  writeSync(3, JSON.stringify({ port: server.address().port }) + '\\n');
  closeSync(3);
});`,
);

try {
  await measureStart();
  await measureRuns();
  if (memoryRuns > 0) await measureMemory();
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function measureStart() {
  const figures = new Map();
  const add = (name, figure, value) => {
    const key = `${name}\0${figure}`;
    if (!figures.has(key)) figures.set(key, []);
    figures.get(key).push(value);
  };
  for (let round = 0; round < rounds; round++) {
    for (const [name, entry] of [['bare node', bare], ...daemons]) {
      const program = await start(entry);
      add(name, 'ready', program.readyMs);
      add(name, 'ready cpu', cpuMs(program.pid));
      if (name !== 'bare node') {
        await health(program);
        add(name, 'health', performance.now() - program.startedAt);
        add(name, 'first Start', await timed(() => run(program)));
        add(name, 'second Start', await timed(() => run(program)));
      }
      await stop(program);
    }
    for (const [name, entry] of daemons) {
      const program = await start(entry);
      await health(program);
      await settled(program.pid);
      const before = cpuMs(program.pid);
      add(name, 'first Start, rested', await timed(() => run(program)));
      add(name, 'first Start, rested cpu', cpuMs(program.pid) - before);
      await stop(program);
    }
  }
  print(`start, ms, median (p90) of ${rounds}`, figures);
}

async function measureRuns() {
  const figures = new Map([['bare spawn\0Start of true', []]]);
  const programs = [];
  for (const [name, entry] of daemons) {
    figures.set(`${name}\0Start of true`, []);
    figures.set(`${name}\0daemon cpu per Start`, []);
    programs.push([name, await start(entry)]);
  }
  for (let index = 0; index < 30; index++) for (const [, program] of programs) await run(program);
  const before = programs.map(([, { pid }]) => cpuMs(pid));
  for (let index = 0; index < runs; index++) {
    figures.get('bare spawn\0Start of true').push(await timed(bareRun));
    for (const [name, program] of programs)
      figures.get(`${name}\0Start of true`).push(await timed(() => run(program)));
  }
  for (const [index, [name, program]] of programs.entries()) {
    figures.get(`${name}\0daemon cpu per Start`).push((cpuMs(program.pid) - before[index]) / runs);
    await stop(program);
  }
  print(`warm, ms, median (p90) of ${runs}`, figures);
}

async function measureMemory() {
  const figures = new Map();
  for (const [name, entry] of daemons) {
    const program = await start(entry);
    await health(program);
    await settled(program.pid);
    const note = (when) => {
      const { privateMiB, pssMiB } = memory(program.pid);
      figures.set(`${name}\0private ${when}`, [privateMiB]);
      figures.set(`${name}\0pss ${when}`, [pssMiB]);
    };
    note('idle');
    for (let index = 0; index < memoryRuns; index++) {
      await run(program);
      if (index + 1 === 150) note('after 150 runs');
    }
    note(`after ${memoryRuns} runs`);
    await stop(program);
  }
  print('memory, MiB', figures);
}

function print(title, figures) {
  console.log(`\n${title}`);
  for (const [key, all] of figures) {
    const [name, figure] = key.split('\0');
    all.sort((a, b) => a - b);
    const at = (part) => all[Math.min(all.length - 1, Math.floor(all.length * part))].toFixed(1);
    const p90 = all.length > 1 ? ` (${at(0.9)})` : '';
    console.log(`  ${figure.padEnd(26)} ${name.padEnd(12)} ${at(0.5)}${p90}`);
  }
}

async function start(entry) {
  const startedAt = performance.now();
  const args = ['--host', '127.0.0.1', '--port', '0', '--ready-fd', '3', '--single-user', '--home', home];
  const child = spawn(process.execPath, [entry, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, HOME: home },
  });
  const [line] = await once(child.stdio[3], 'data');
  const readyMs = performance.now() - startedAt;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return { child, pid: child.pid, port: JSON.parse(line).port, startedAt, readyMs, agent };
}

async function stop({ child, agent }) {
  agent.destroy();
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

async function timed(work) {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

function send(program, options, body) {
  return new Promise((resolve, reject) => {
    const sent = request(
      { port: program.port, host: '127.0.0.1', agent: program.agent, ...options },
      (response) => {
        const parts = [];
        response.on('data', (part) => parts.push(part));
        response.on('end', () => resolve(Buffer.concat(parts)));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function health(program) {
  return send(program, { path: '/health' });
}

async function run(program) {
  const payload = Buffer.from(JSON.stringify({ process: { cmd: 'true' }, stdin: false }));
  const body = Buffer.alloc(5 + payload.length);
  body.writeUInt32BE(payload.length, 1);
  payload.copy(body, 5);
  const headers = {
    'Content-Type': 'application/connect+json',
    'Connect-Protocol-Version': '1',
    'Content-Length': body.length,
  };
  const answer = await send(program, { path: '/process.Process/Start', method: 'POST', headers }, body);
  if (!answer.includes('exit status 0')) throw new Error(`the run failed: ${answer}`);
}

async function bareRun() {
  const child = spawn('true', {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: home,
    env: { PATH: process.env.PATH },
  });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, 'close');
}

/** Processor time of all its threads so far. */
function cpuMs(pid) {
  let sum = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    sum += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  }
  return sum / 1e6;
}

/** Waits until it has used no processor time for a while. */
async function settled(pid) {
  for (let last = -1, same = 0; same < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = cpuMs(pid);
    same = now - last < 0.05 ? same + 1 : 0;
    last = now;
  }
}

function memory(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)[1]);
  return {
    pssMiB: kib('Pss') / 1024,
    privateMiB: (kib('Private_Clean') + kib('Private_Dirty')) / 1024,
  };
}
