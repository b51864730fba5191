// An agent of the OpenAI Agents SDK with a sandbox of its own. The model is a scripted stand-in; put a real one in its place.
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { sandboxTools, ToolSandboxes } from '@svc/agents/openai';
import { Client } from '@svc/sdk';

setTracingDisabled(true);
const program = 'print([n for n in range(2, 30) if all(n % d for d in range(2, n))])';
const model = new ScriptedModel([
  [functionCall('write_file', { path: 'primes.py', content: program }, { callId: '1' })],
  [functionCall('run_command', { command: 'python3 primes.py' }, { callId: '2' })],
  modelResponder(({ request }) => [
    assistantMessage(`They are ${request.input.at(-1).output.text.split('\n').at(2)}.`),
  ]),
]);

const sandboxes = new ToolSandboxes({ client: new Client() });
try {
  const agent = new Agent({ name: 'Coder', model, tools: sandboxTools(sandboxes) });
  const result = await run(agent, 'Which primes are below 30? Write a program, and run it.');
  for (const item of result.newItems)
    if (item.type === 'tool_call_output_item') console.log(`${item.rawItem.name}: ${item.output}`);
  console.log(result.finalOutput);
} finally {
  await sandboxes.close();
}
