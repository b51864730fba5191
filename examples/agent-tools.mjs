// An agent's tool loop without any vendor: a tool definition as models take it, and the loop that runs what the model
// asks for in a sandbox. The model here is a scripted stand-in; put your own in its place.
import { Sandbox } from '@svc/sdk';

export const runPython = {
  name: 'run_python',
  description: 'Runs a Python program in an isolated sandbox and returns its output.',
  parameters: {
    type: 'object',
    properties: { code: { type: 'string', description: 'The program.' } },
    required: ['code'],
  },
  async execute(sandbox, { code }) {
    await sandbox.files.write('program.py', code);
    const result = await sandbox.commands.run('python3 program.py', { check: false, timeoutMs: 30_000 });
    return { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr };
  },
};

/** Stands in for a model: asks for one failing program, reads the error, asks for the repaired one, then answers. */
function* scriptedModel() {
  const first = yield { tool: 'run_python', arguments: { code: 'print(sum(range(1, 11)) / zero)' } };
  if (!first.stderr.includes('NameError')) throw new Error(`expected a NameError, got: ${first.stderr}`);
  const second = yield { tool: 'run_python', arguments: { code: 'print(sum(range(1, 11)))' } };
  return `The sum of 1 to 10 is ${second.stdout.trim()}.`;
}

const tools = new Map([[runPython.name, runPython]]);
const sandbox = await Sandbox.create();
try {
  const model = scriptedModel();
  let turn = model.next();
  while (!turn.done) {
    const { tool, arguments: input } = turn.value;
    const output = await tools.get(tool).execute(sandbox, input);
    console.log(
      `${tool} -> exit ${output.exitCode}: ${(output.stdout || output.stderr).trim().split('\n').at(-1)}`,
    );
    turn = model.next(output);
  }
  console.log(turn.value);
} finally {
  await sandbox.kill();
}
