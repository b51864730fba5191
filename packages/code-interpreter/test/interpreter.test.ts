import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Sandbox as StockSandbox } from '@e2b/code-interpreter';
import { ConflictError, InvalidRequestError, NotFoundError, type Sandbox, TimeoutError } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeInterpreterName } from '../src/index.js';
import { findMirror, type InterpreterStage, startStage } from './support/interpreter-stage.js';

const mirror = await findMirror();
const lacks = 'lacks' in mirror ? mirror.lacks : undefined;
if (lacks !== undefined) console.warn(`Tests of the code interpreter are skipped: ${lacks}`);

describe.skipIf(lacks !== undefined)('the code interpreter', () => {
  let stage: InterpreterStage;
  let sandbox: Sandbox;

  beforeAll(async () => {
    if ('lacks' in mirror) return;
    stage = await startStage(mirror);
    sandbox = await stage.client.sandboxes.create({ template: codeInterpreterName, timeoutMs: 900_000 });
  }, 600_000);
  afterAll(() => stage?.stop());

  const run: Sandbox['runCode'] = (code, options) => sandbox.runCode(code, options);

  it.skipIf(process.env.SVC_HEAVY !== '1')(
    'answers the first cell of a fresh sandbox in 100 ms, at the median of ten',
    async () => {
      const times: { first: number; second: number }[] = [];
      for (let round = 0; round < 10; round += 1) {
        await using fresh = await stage.client.sandboxes.create({ template: codeInterpreterName });
        const began = performance.now();
        await fresh.runCode('1 + 1');
        const between = performance.now();
        await fresh.runCode('2 + 2');
        times.push({ first: between - began, second: performance.now() - between });
      }
      const median = (values: number[]) => values.sort((a, b) => a - b)[5]!;
      const [first, second] = [median(times.map((one) => one.first)), median(times.map((one) => one.second))];
      console.log(
        `first cells ${times.map((one) => Math.round(one.first)).join(', ')} ms, second ${second.toFixed(0)} ms`,
      );
      expect(first).toBeLessThan(100);
    },
  );

  describe('in Python', () => {
    it('keeps what cells define, and counts them from 1', async () => {
      const first = await run('x = 1');
      expect(first).toEqual({
        results: [],
        logs: { stdout: '', stderr: '' },
        error: undefined,
        executionCount: 1,
        text: undefined,
      });
      expect(await run('x + 41')).toMatchObject({ text: '42', executionCount: 2 });
    });

    it('streams what is printed to the callbacks and gathers it', async () => {
      const heard: string[] = [];
      const { logs } = await run('import sys\nprint("out ü 😀")\nprint("problem", file=sys.stderr)', {
        onStdout: (text) => void heard.push(`out ${text}`),
        onStderr: (text) => void heard.push(`err ${text}`),
      });
      expect(logs).toEqual({ stdout: 'out ü 😀\n', stderr: 'problem\n' });
      expect(heard.sort()).toEqual(['err problem\n', 'out out ü 😀\n']);
    });

    it('gives errors with name, value and traceback, and continues', async () => {
      const { error } = await run('def half(n):\n    return n / 0\nhalf(1)');
      expect(error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
      expect(error?.traceback).toContain('half');
      expect((await run('if')).error).toMatchObject({ name: 'SyntaxError' });
      expect((await run('x')).text).toBe('1');
    });

    it('shows values in every form that they have', async () => {
      const { results } = await run(
        'from IPython.display import *\n' +
          'display(HTML("<b>h</b>"), Markdown("*m*"), Latex("$l$"), JSON({"j": [1]}), Javascript("js"))\n' +
          'display(SVG("<svg xmlns=\'http://www.w3.org/2000/svg\'></svg>"))\n' +
          'display({"application/x-own": "own"}, raw=True)\n"hello\\nworld"',
      );
      expect(results).toMatchObject([
        { html: '<b>h</b>', isMainResult: false },
        { markdown: '*m*' },
        { latex: '$l$' },
        { json: { j: [1] } },
        { javascript: 'js' },
        { svg: expect.stringContaining('<svg') },
        { extra: { 'application/x-own': 'own' } },
        { text: 'hello\nworld', isMainResult: true },
      ]);
    });

    it('gives tables as data, large ones as text and HTML alone', async () => {
      const { results } = await run(
        'import pandas as pd\npd.DataFrame({"n": [1, 2.5], "s": ["a", None], "t": pd.to_datetime(["2024-01-02", None])})',
      );
      expect(results[0]?.data).toEqual({ n: [1, 2.5], s: ['a', null], t: ['2024-01-02T00:00:00.000', null] });
      expect(results[0]?.html).toContain('<table');
      const large = await run('pd.DataFrame({"n": range(100_001)})');
      expect(large.results[0]).toMatchObject({ html: expect.stringContaining('100001 rows') });
      expect(large.results[0]).not.toHaveProperty('data');
    });

    it('sets variables for one cell, and gives it the directory of its context', async () => {
      expect((await run('import os\nos.environ["ONE"]', { envs: { ONE: "it's" } })).text).toBe("it's");
      expect((await run('os.environ.get("ONE"), os.getcwd()')).text).toBe("(None, '/home/user')");
    });
  });

  describe('with charts', () => {
    const chartOf = async (code: string) => {
      const { results, error } = await run(
        `import matplotlib.pyplot as plt\nplt.close("all")\n${code}\nplt.show()`,
      );
      expect(error).toBeUndefined();
      expect(results.at(-1)?.png).toMatch(/^iVBOR/);
      return results.at(-1)?.chart;
    };

    it('gives lines with labels, units, scales and dates', async () => {
      expect(
        await chartOf(
          'plt.plot([1, 2], [10, 100], label="a")\nplt.plot([1, 2], [20, 30])\nplt.title("T")\nplt.xlabel("Time (s)")\nplt.ylabel("y")\nplt.yscale("log")',
        ),
      ).toMatchObject({
        type: 'line',
        title: 'T',
        x_label: 'Time (s)',
        x_unit: 's',
        y_label: 'y',
        y_unit: null,
        x_scale: 'linear',
        y_scale: 'log',
        elements: [
          {
            label: 'a',
            points: [
              [1, 10],
              [2, 100],
            ],
          },
          {
            points: [
              [1, 20],
              [2, 30],
            ],
          },
        ],
      });
      expect(
        await chartOf(
          'import datetime as d\nplt.plot([d.datetime(2024, 1, 1), d.datetime(2024, 1, 2)], [1, 2])',
        ),
      ).toMatchObject({
        x_scale: 'datetime',
        elements: [
          {
            points: [
              [expect.stringContaining('2024-01-01'), 1],
              [expect.stringContaining('2024-01-02'), 2],
            ],
          },
        ],
      });
    });

    it('gives points, bars, pies and boxes', async () => {
      expect(await chartOf('plt.scatter([1, 2], [3, 4], label="s")')).toMatchObject({
        type: 'scatter',
        elements: [
          {
            label: 's',
            points: [
              [1, 3],
              [2, 4],
            ],
          },
        ],
      });
      expect(await chartOf('plt.bar(["a", "b"], [3, 4], label="g")')).toMatchObject({
        type: 'bar',
        elements: [
          { label: 'a', group: 'g', value: 3 },
          { label: 'b', group: 'g', value: 4 },
        ],
      });
      expect(await chartOf('plt.barh(["a", "b"], [3, 4])')).toMatchObject({
        type: 'bar',
        elements: [
          { label: 'a', value: 3 },
          { label: 'b', value: 4 },
        ],
      });
      expect(await chartOf('plt.pie([1, 3], labels=["q", "r"])')).toMatchObject({
        type: 'pie',
        elements: [
          { label: 'q', angle: 90, radius: 1 },
          { label: 'r', angle: 270 },
        ],
      });
      expect(await chartOf('plt.boxplot([[1, 2, 3, 4, 5, 100]], tick_labels=["x"])')).toMatchObject({
        type: 'box_and_whisker',
        elements: [
          {
            label: 'x',
            min: 1,
            first_quartile: 2.25,
            median: 3.5,
            third_quartile: 4.75,
            max: 5,
            outliers: [100],
          },
        ],
      });
    });

    it('gives a figure with several axes as charts of a chart, and none of what it cannot read', async () => {
      expect(
        await chartOf(
          'f, (a, b) = plt.subplots(1, 2)\nf.suptitle("both")\na.plot([1, 2])\nb.bar(["q"], [1])',
        ),
      ).toMatchObject({ type: 'superchart', title: 'both', elements: [{ type: 'line' }, { type: 'bar' }] });
      expect(await chartOf('plt.plot(range(100_001))')).toBeUndefined();
      expect(await chartOf('plt.imshow([[1, 2], [3, 4]])')).toMatchObject({ type: 'unknown', elements: [] });
    });
  });

  describe('in JavaScript and TypeScript', () => {
    const js = (code: string) => run(code, { language: 'javascript' });

    it('keeps constants, which may be declared again, awaits, imports and shows the last value', async () => {
      expect(await js('const a = 1; console.log("out"); console.error("err"); a + 1')).toMatchObject({
        text: '2',
        logs: { stdout: 'out\n', stderr: 'err\n' },
      });
      const { results, error } = await js(
        'const a = 5;\nimport { join as put } from "node:path";\nimport fs from "fs";\nconst os = await import("node:os");\n' +
          '({ a, path: put("x", "y"), same: fs === require("fs"), eol: os.EOL, text: "import(" })',
      );
      expect(error).toBeUndefined();
      expect(results[0]?.json).toEqual({ a: 5, path: 'x/y', same: true, eol: '\n', text: 'import(' });
      expect((await js('display({ "text/html": "<i>" })')).results).toMatchObject([
        { html: '<i>', isMainResult: false },
      ]);
    });

    it('gives errors with a stack, and survives what fails later', async () => {
      const { error } = await js('function fail() { throw new RangeError("too far") }\nfail()');
      expect(error).toMatchObject({ name: 'RangeError', value: 'too far' });
      expect(error?.traceback).toContain('at fail');
      const late = 'setTimeout(() => { happened(); throw new Error("late") }, 1)';
      await js(`var late = new Promise((happened) => ${late}); Promise.reject(new Error("nobody")); 0`);
      expect((await js('await late; a')).text).toBe('5');
    });

    it('runs TypeScript by leaving out its types', async () => {
      const code =
        'interface Point { x: number }\nenum Level { Low = 3 }\nconst p: Point = { x: Level.Low };\np.x as number';
      expect(await run(code, { language: 'typescript' })).toMatchObject({ text: '3', error: undefined });
      expect((await run('const : x', { language: 'typescript' })).error?.name).toContain('SyntaxError');
    });
  });

  describe('in Bash', () => {
    const bash = (code: string, options = {}) => run(code, { language: 'bash', ...options });

    it('keeps variables, functions and the directory', async () => {
      await bash('n=3; say() { echo "said $1"; }\ncd /tmp');
      expect((await bash('say "$n $PWD it\'s 😀"')).logs.stdout).toBe("said 3 /tmp it's 😀\n");
      expect((await bash('echo $V', { envs: { V: 'a b' } })).logs.stdout).toBe('a b\n');
      expect((await bash('echo "[${V-none}]"; cat')).logs.stdout).toBe('[none]\n');
    });

    it('calls a status other than 0 an error, and gives a new shell after exit', async () => {
      expect((await bash('(exit 7)')).error).toMatchObject({ name: 'ExitStatus', value: 'exit status 7' });
      expect((await bash('if')).error).toMatchObject({ name: 'ExitStatus' });
      expect((await bash('set -e; false; echo never')).error).toMatchObject({ value: 'exit status 1' });
      expect(await bash('echo "${n-gone}"; exit 0')).toMatchObject({
        error: undefined,
        logs: { stdout: 'gone\n' },
      });
    });
  });

  describe('with contexts', () => {
    it('creates, lists, restarts and deletes them', async () => {
      const context = await sandbox.codeContexts.create({ cwd: '/tmp' });
      expect(context).toEqual({ id: expect.any(String), language: 'python', cwd: '/tmp' });
      expect((await run('import os\ny = 1\nos.getcwd()', { context })).text).toBe('/tmp');
      expect((await run('y')).error).toMatchObject({ name: 'NameError' });
      expect(await sandbox.codeContexts.list()).toContainEqual(context);
      await sandbox.codeContexts.restart(context);
      expect((await run('y', { context })).error).toMatchObject({ name: 'NameError' });
      expect(await sandbox.codeContexts.delete(context)).toBe(true);
      expect(await sandbox.codeContexts.delete(context.id)).toBe(false);
      await expect(run('1', { context })).rejects.toBeInstanceOf(NotFoundError);
      await expect(sandbox.codeContexts.restart(context)).rejects.toBeInstanceOf(NotFoundError);
    });

    it('refuses a directory that does not exist, a language that nobody knows, and both a context and a language', async () => {
      await expect(sandbox.codeContexts.create({ cwd: '/no/such' })).rejects.toThrow(/does not exist/);
      await expect(run('1', { language: 'cobol' as 'bash' })).rejects.toThrow(
        /"?'cobol'.*python, javascript/,
      );
      await expect(run('1', { language: 'bash', context: 'x' })).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(sandbox.codeContexts.restart('../execute')).rejects.toBeInstanceOf(InvalidRequestError);
    });
  });

  describe('when cells misbehave', () => {
    it('interrupts a cell when its time is over, and keeps its variables', async () => {
      for (const [language, define, endless, read] of [
        ['python', 'kept = 7', 'while True: pass', 'kept'],
        ['javascript', 'const kept = 7', 'for (;;) {}', 'kept'],
        ['javascript', 'const kept = 7', 'await new Promise(() => {})', 'kept'],
        ['bash', 'kept=7', 'while :; do :; done', 'echo $kept'],
        ['bash', 'kept=7', 'sleep 1000', 'echo $kept'],
      ] as const) {
        await run(define, { language });
        const late = await run(endless, { language, timeoutMs: 300 }).catch((error: unknown) => error);
        expect(late, endless).toBeInstanceOf(TimeoutError);
        const after = await run(read, { language });
        expect(after.text ?? after.logs.stdout, endless).toMatch(/^7/);
      }
    });

    it('starts a kernel again that cannot be interrupted, and says so', async () => {
      const stubborn =
        'import time\nlost = 1\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except KeyboardInterrupt: pass';
      await expect(run(stubborn, { timeoutMs: 300 })).rejects.toBeInstanceOf(TimeoutError);
      const after = await run('"lost" in globals()');
      expect(after).toMatchObject({
        text: 'False',
        logs: { stderr: expect.stringContaining('variables are lost') },
      });
    });

    it('stops a cell when the caller aborts', async () => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const running = run('print("started", flush=True)\nimport time\ntime.sleep(1000)', {
        signal: controller.signal,
        onStdout: () => controller.abort(reason),
      });
      await expect(running).rejects.toBe(reason);
      expect((await run('1 + 1')).text).toBe('2');
    });

    it('survives cells that kill their kernel', async () => {
      for (const [code, how] of [
        ['import os\nos._exit(3)', /exit status 3/],
        ['import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)', /SIGSEGV/],
      ] as const) {
        const { error } = await run(code);
        expect(error).toMatchObject({ name: 'KernelDied', value: expect.stringMatching(how) });
      }
      expect((await run('process.exit(4)', { language: 'javascript' })).error?.value).toMatch(
        /exit status 4/,
      );
      expect((await run('1 + 1')).text).toBe('2');
    });

    it('passes 100 MB of output on, whole', async () => {
      let length = 0;
      const code = 'for _ in range(1000): print("x" * 99_999)';
      const { logs } = await run(code, {
        onStdout: (text) => void (length += text.length),
        timeoutMs: 100_000,
      });
      expect(length).toBe(100_000_000);
      expect(logs.stdout.length).toBe(100_000_000);
    });

    it('ends a cell that gives more than the caller takes', async () => {
      const flood = run('while True: print("x" * 10_000)', { maxOutputBytes: 5_000_000 });
      await expect(flood).rejects.toMatchObject({ code: 'output_too_large' });
      expect((await run('1 + 1')).text).toBe('2');
    });

    it('leaves out a result that is too long, and says so', async () => {
      const { results, logs } = await run('"y" * 30_000_000');
      expect(results[0]?.text?.length).toBeLessThan(1_000_000);
      expect(logs.stderr).toMatch(/too long.*text \(28 MiB\)/);
    });

    it('refuses garbage with a reason', async () => {
      const send = async (path: string, body: string, method = 'POST') => {
        const answer = await sandbox.fetch(49_999, path, { method, body });
        return `${answer.status} ${await answer.text()}`;
      };
      expect(await send('/execute', '{')).toMatch(/^400 .*not JSON/);
      expect(await send('/execute', '[]')).toMatch(/^400 .*not an object/);
      expect(await send('/execute', '{}')).toMatch(/^400 code is missing/);
      expect(await send('/execute', '{"code":1}')).toMatch(/^400 code is not a text/);
      expect(await send('/execute', '{"code":"1","env_vars":{"A B":"1"}}')).toMatch(
        /^400 env_vars has the name/,
      );
      expect(await send('/execute', '{"code":"1","env_vars":[]}')).toMatch(/^400 env_vars/);
      expect(await send('/execute', '{"code":"1","context_id":"none"}')).toMatch(/^404 Context none/);
      expect(await send('/contexts', '{"cwd":7}')).toMatch(/^400 cwd/);
      expect(await send('/nowhere', '{}')).toMatch(/^404/);
      expect(await send('/execute', `{"code":"${'['.repeat(100_000)}`)).toMatch(/^400/);
      expect((await run('print("\\udc80", "\\x00")\n"\\udc80"')).error).toBeUndefined();
    });
  });

  it('says what to do where there is no interpreter, or no template', async () => {
    await using plain = await stage.client.sandboxes.create({ timeoutMs: 60_000 });
    const error = await plain.runCode('1').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({
      code: 'no_code_interpreter',
      message: expect.stringContaining('--builtin code-interpreter'),
    });
    await expect(plain.codeContexts.list()).rejects.toMatchObject({ code: 'no_code_interpreter' });
  });

  it('works in sandboxes whose ports are private', async () => {
    await using closed = await stage.client.sandboxes.create({
      template: codeInterpreterName,
      timeoutMs: 60_000,
      network: { allowPublicTraffic: false },
    });
    expect((await closed.runCode('6 * 7')).text).toBe('42');
    const { apiUrl, sandboxUrl, apiKey, domain } = stage.server;
    const stock = await StockSandbox.connect(closed.sandboxId, { apiUrl, sandboxUrl, apiKey, domain });
    expect((await stock.runCode('6 * 7')).text).toBe('42');
  });

  it('keeps the variables of every language over a fork and a pause', async () => {
    await using source = await stage.client.sandboxes.create({
      template: codeInterpreterName,
      timeoutMs: 300_000,
    });
    await source.runCode('state = [1, 2]');
    await source.runCode('let state = 5', { language: 'javascript' });
    await source.runCode('state=here', { language: 'bash' });
    const runs = await source.withForks(
      2,
      async (fork, index) => [
        (await fork.runCode(`state.append(${index}); state`)).text,
        (await fork.runCode('state', { language: 'javascript' })).text,
        (await fork.runCode('echo $state', { language: 'bash' })).logs.stdout,
      ],
      { timeoutMs: 120_000 },
    );
    expect(runs).toMatchObject([
      { ok: true, value: ['[1, 2, 0]', '5', 'here\n'] },
      { ok: true, value: ['[1, 2, 1]', '5', 'here\n'] },
    ]);
    await source.pause();
    await source.resume({ timeoutMs: 300_000 });
    expect((await source.runCode('state')).text).toBe('[1, 2]');
  });

  it('lets a kernel end, and not its server, when a cell takes all memory', async () => {
    await using small = await stage.client.sandboxes.create({
      template: codeInterpreterName,
      timeoutMs: 300_000,
    });
    await small.runCode('const kept = 1', { language: 'javascript' });
    const { error } = await small.runCode('held = []\nwhile True: held.append(b"x" * 50_000_000)', {
      timeoutMs: 200_000,
    });
    expect(error?.name).toMatch(/KernelDied|MemoryError/);
    expect((await small.runCode('1 + 1')).text).toBe('2');
    // While Linux gives back the memory of the first it may end an idle one too, which then says so and continues anew.
    const other = await small.runCode('kept', { language: 'javascript' });
    if (other.error === undefined) expect(other.text).toBe('1');
    else expect(other.error.name).toBe('KernelDied');
    expect((await small.runCode('1 + 1', { language: 'javascript' })).text).toBe('2');
  });

  it('runs the example program of an agent that tries four continuations', async () => {
    const { apiUrl: SVC_API_URL, sandboxUrl: SVC_SANDBOX_URL, apiKey: SVC_API_KEY } = stage.server;
    const program = fileURLToPath(new URL('../../../examples/code-interpreter.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      env: { ...process.env, SVC_API_URL, SVC_SANDBOX_URL, SVC_API_KEY },
    });
    expect(stdout).toContain('loaded: (120, 2)');
    expect(stdout).toMatch(/^parabola: off by [\d.]+$/m);
    expect(stdout).toContain('chart: the best of four, sold and weekly, with an image');
    expect(stdout).toContain('kept: weekly');
  });

  it('serves the stock client of another vendor, unchanged', async () => {
    const { apiUrl, sandboxUrl, apiKey, domain } = stage.server;
    const stock = await StockSandbox.create({ apiUrl, sandboxUrl, apiKey, domain, timeoutMs: 120_000 });
    try {
      await stock.runCode('x = 1');
      const lines: string[] = [];
      const execution = await stock.runCode('x += 1; print("hello"); x', {
        onStdout: ({ line }) => void lines.push(line),
      });
      expect(execution).toMatchObject({
        text: '2',
        executionCount: 2,
        logs: { stdout: ['hello\n'] },
        error: undefined,
      });
      expect(lines).toEqual(['hello\n']);
      const failed = await stock.runCode('1 / 0');
      expect(failed.error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
      const { results } = await stock.runCode(
        'import matplotlib.pyplot as plt\nplt.bar(["a"], [1])\nplt.show()',
      );
      expect(results.at(-1)).toMatchObject({ png: expect.any(String), chart: { type: 'bar' } });
      expect(results.at(-1)?.formats()).toContain('png');
      const table = await stock.runCode('import pandas as pd\npd.DataFrame({"a": [1]})');
      expect(table.results[0]).toMatchObject({ data: { a: [1] } });
      const context = await stock.createCodeContext({ language: 'js', cwd: '/tmp' });
      expect(context).toMatchObject({ language: 'javascript', cwd: '/tmp' });
      expect((await stock.runCode('process.cwd()', { context })).text).toBe('/tmp');
      expect((await stock.listCodeContexts()).map(({ id }) => id)).toContain(context.id);
      await stock.restartCodeContext(context);
      await stock.removeCodeContext(context);
      await expect(stock.runCode('1', { context })).rejects.toThrow(/not found/);
      await expect(stock.runCode('import time; time.sleep(100)', { timeoutMs: 500 })).rejects.toThrow(
        /timed out/,
      );
      expect((await stock.runCode('x')).text).toBe('2');
      expect((await stock.runCode('echo $A', { language: 'bash', envs: { A: 'b' } })).logs.stdout).toEqual([
        'b\n',
      ]);
    } finally {
      await stock.kill();
    }
  });
});
