// A kernel for JavaScript. The main thread runs the cells, as the console of the engine's inspector does: with `await`, and
// with constants that may be declared again. A thread beside it takes the cells in, and stops one that never returns.
import fs from 'node:fs';
import { Session } from 'node:inspector';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

const events = Number(process.argv[2]);
const hook = 'code-interpreter';
const longestJson = 1024 * 1024;
const interrupt = { name: 'KeyboardInterrupt', message: 'the cell was interrupted', stack: '' };

if (isMainThread) serveCells();
else takeCells();

function emit(event) {
  fs.writeSync(events, `${JSON.stringify(event)}\n`);
}

function serveCells() {
  const session = new Session();
  session.connect();
  const post = (method, parameters) =>
    new Promise((done) => session.post(method, parameters, (error, result) => done({ error, ...result })));
  globalThis.require = createRequire(path.join(process.cwd(), 'cell.js'));
  /** Shows a value, or its representations by MIME type: `display({ 'text/html': '<b>bold</b>' })`. */
  globalThis.display = (value) => emit({ type: 'result', main: false, data: represent(value) });
  globalThis[Symbol.for(hook)] = {
    show: (value) => value !== undefined && emit({ type: 'result', main: true, data: represent(value) }),
    fail: (error) => emit(describe(error)),
    load,
  };
  // A failure after the end of its cell is reported on standard error, and takes nothing down.
  process.on('uncaughtException', (error) => console.error('Uncaught', error));
  process.on('SIGINT', () => {});
  // By itself the process would wait for the inspector's other session.
  process.on('exit', (code) => {
    emit({ type: 'exit', code });
    process.kill(process.pid, 'SIGKILL');
  });
  // The output of a cell is in the pipe before its end is reported, and a cell waits for who reads it.
  for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);

  let restore = () => {};
  let current;
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
  worker.on('message', (message) => {
    if (message.interrupted === undefined) {
      current = message.id;
      // A turn of its own: an interrupt unwinds everything below the cell.
      setImmediate(() => void run(message));
    } else if (message.interrupted === current) end(interrupt);
  });
  emit({ type: 'end' });

  async function run({ id, code, typescript, env }) {
    restore = setEnvironment(env);
    const { error, result, exceptionDetails } = await evaluate(code, typescript);
    if (id !== current) return;
    // The inspector's own failure: the cell was terminated.
    if (error?.code === 'ERR_INSPECTOR_COMMAND') return end(interrupt);
    if (error) return end(error);
    const [method, value] = exceptionDetails ? ['fail', exceptionDetails.exception] : ['show', result];
    const { result: target } = await post('Runtime.evaluate', {
      expression: `globalThis[Symbol.for('${hook}')]`,
    });
    await post('Runtime.callFunctionOn', {
      objectId: target.objectId,
      functionDeclaration: `function (value) { this.${method}(value); }`,
      arguments: [argument(value)],
    });
    if (id === current) end();
  }

  function end(error) {
    current = undefined;
    restore();
    if (error !== undefined) emit(describe(error));
    void post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
    worker.postMessage('ended');
    emit({ type: 'end' });
  }

  async function evaluate(code, typescript) {
    let expression;
    try {
      expression = withLoader(typescript ? stripTypeScriptTypes(code, { mode: 'transform' }) : code);
    } catch (error) {
      return { error };
    }
    const answer = await send(expression);
    const problem = answer.exceptionDetails?.exception?.description ?? '';
    if (!/^SyntaxError: (Cannot use import statement|Unexpected token 'export')/.test(problem)) return answer;
    return send(withoutImports(expression));
  }

  const send = (expression) =>
    post('Runtime.evaluate', { expression, objectGroup: 'cell', replMode: true, awaitPromise: true });
}

/** Imports as `import` in a file of the working directory would. */
function load(name) {
  if (/^\.{0,2}\//.test(name)) return import(pathToFileURL(path.resolve(name)).href);
  try {
    const found = globalThis.require.resolve(name);
    return import(path.isAbsolute(found) ? pathToFileURL(found).href : found);
  } catch {
    return import(name);
  }
}

/** Sets variables, and gives what puts back what they were. */
function setEnvironment(variables = {}) {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

function represent(value) {
  if (isBundle(value)) return value;
  const data = {
    'text/plain': typeof value === 'string' ? value : inspect(value, { maxStringLength: 100_000 }),
  };
  if (value !== null && typeof value === 'object' && (Array.isArray(value) || isPlain(value))) {
    try {
      const json = JSON.stringify(value);
      if (json !== undefined && json.length <= longestJson) data['application/json'] = JSON.parse(json);
    } catch {
      // Text says it then.
    }
  }
  return data;
}

function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isBundle(value) {
  if (value === null || typeof value !== 'object') return false;
  const names = Object.keys(value);
  return names.length > 0 && names.every((name) => /^(text|image|application)\/[\w.+-]+$/.test(name));
}

function describe(error) {
  if (error instanceof Error || (typeof error === 'object' && error !== null && 'stack' in error)) {
    return {
      type: 'error',
      name: String(error.name ?? 'Error'),
      value: String(error.message ?? ''),
      traceback: String(error.stack ?? '').replace(
        /\n\s+at (?:new Promise \(<anonymous>\)|.*(?:javascript\.mjs|node:i|node:t).*)$/gm,
        '',
      ),
    };
  }
  return { type: 'error', name: 'Uncaught', value: inspect(error), traceback: `Uncaught ${inspect(error)}` };
}

function takeCells() {
  const session = new Session();
  session.connectToMainThread();
  let text = '';
  let running;
  let last = 0;
  parentPort.on('message', () => {
    running = undefined;
  });
  const input = fs.createReadStream('', { fd: 0, encoding: 'utf8' });
  input.on('data', (data) => {
    const lines = (text + data).split('\n');
    text = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.interrupt) stop();
      else {
        last += 1;
        running = last;
        parentPort.postMessage({ ...message, id: running });
      }
    }
  });
  input.on('end', () => process.kill(process.pid, 'SIGKILL'));

  function stop() {
    if (running === undefined) return;
    session.post('Runtime.terminateExecution');
    // Work that a cell only waits for has nothing to be terminated, and continues without it.
    parentPort.postMessage({ interrupted: running });
  }
}

/** Returns a value of the inspector as an argument of a function. */
function argument({ objectId, unserializableValue, value } = {}) {
  if (objectId !== undefined) return { objectId };
  return unserializableValue === undefined ? { value } : { unserializableValue };
}

/** Calls of `import`, which the inspector's code cannot make, as calls of `load`. Text and comments stay as they are. */
function withLoader(code) {
  const pattern =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/.*|\/\*[\s\S]*?\*\/|(?<![.\w$])import\s*\(/g;
  return code.replace(pattern, (found) =>
    found.startsWith('import') ? `globalThis[Symbol.for('${hook}')].load(` : found,
  );
}

/** Import statements, which only modules have, as calls that do the same. */
function withoutImports(code) {
  const load = (name) => `await globalThis[Symbol.for('${hook}')].load(${name})`;
  const pattern =
    /^([ \t]*)import\s+(?:([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)\s*|\{([^}]*)\}\s*)?from\s*(['"][^'"]+['"])\s*;?/gm;
  return code
    .replace(pattern, (_, indent, whole, all, names, from) => {
      const parts = names ? names.replace(/\s+as\s+/g, ': ') : '';
      if (all)
        return `${indent}const ${all} = ${load(from)};${whole ? ` const ${whole} = ${all}.default;` : ''}`;
      const wanted = [...(whole ? [`default: ${whole}`] : []), ...(parts.trim() ? [parts] : [])].join(', ');
      return `${indent}const { ${wanted} } = ${load(from)};`;
    })
    .replace(/^([ \t]*)import\s*(['"][^'"]+['"])\s*;?/gm, (_, indent, from) => `${indent}${load(from)};`)
    .replace(/^([ \t]*)export\s+(?:default\s+)?(?=const|let|var|function|class|async)/gm, '$1');
}
