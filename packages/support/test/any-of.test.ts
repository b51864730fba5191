import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { anyOf } from '../src/any-of.js';

it('keeps time limits through garbage collection, those within others too', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const never = new AbortController().signal;
  const within = () => anyOf([anyOf([AbortSignal.timeout(100), never]), never]);
  const fired = Array.from({ length: 20 }, () => once(within(), 'abort'));
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await Promise.all(fired)).toHaveLength(20);
});

it('fires at once for what has fired, with its reason', () => {
  const reason = new Error('enough');
  expect(anyOf([new AbortController().signal, AbortSignal.abort(reason)]).reason).toBe(reason);
});

it.each(['runtime', 'server', 'conformance'])('is what packages/%s joins signals by', (name) => {
  const folder = fileURLToPath(new URL(`../../${name}/src/`, import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const others = files.filter((file) =>
    readFileSync(`${folder}${file}`, 'utf8').includes('AbortSignal.any('),
  );
  expect(others).toEqual([]);
});
