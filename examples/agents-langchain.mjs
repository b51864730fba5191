// An agent of LangChain with tools that work in a sandbox, and a deep agent with a sandbox as its backend. The models are scripted
// stand-ins; put real ones in their place.

import { SandboxBackend } from '@svc/agents/deepagents';
import { sandboxTools, ToolSandboxes } from '@svc/agents/langchain';
import { Client } from '@svc/sdk';
import { createDeepAgent } from 'deepagents';
import { AIMessage, createAgent, fakeModel } from 'langchain';

const program = 'print([n for n in range(2, 30) if all(n % d for d in range(2, n))])';
const question = {
  messages: [{ role: 'user', content: 'Which primes are below 30? Write a program, and run it.' }],
};
const show = ({ messages }) => {
  for (const message of messages.slice(1)) if (message.text) console.log(`${message.type}: ${message.text}`);
};

const sandboxes = new ToolSandboxes({ client: new Client() });
try {
  const model = fakeModel()
    .respondWithTools([{ name: 'write_file', args: { path: 'primes.py', content: program }, id: '1' }])
    .respondWithTools([{ name: 'run_command', args: { command: 'python3 primes.py' }, id: '2' }])
    .respond((messages) => new AIMessage(`They are ${messages.at(-1).text.split('\n').at(2)}.`));
  show(await createAgent({ model, tools: sandboxTools(sandboxes) }).invoke(question));

  const sandbox = await sandboxes.use();
  const deepModel = fakeModel()
    .respondWithTools([{ name: 'execute', args: { command: 'python3 primes.py' }, id: '1' }])
    .respond((messages) => new AIMessage(`The deep agent says ${messages.at(-1).text.split('\n')[0]}.`));
  const deepAgent = createDeepAgent({
    model: deepModel,
    backend: new SandboxBackend(sandbox),
    systemPrompt: 'The program is primes.py.',
  });
  show(await deepAgent.invoke(question));
} finally {
  await sandboxes.close();
}
