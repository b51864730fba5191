// An agent of Mastra whose workspace is a sandbox. The model is a scripted stand-in; put a real one in its place.
import { Agent } from '@mastra/core/agent';
import { Workspace } from '@mastra/core/workspace';
import { SvcFilesystem, SvcSandbox, ToolSandboxes } from '@svc/agents/mastra';
import { Client } from '@svc/sdk';
import { MockLanguageModelV4 } from 'ai/test';

const sandboxes = new ToolSandboxes({ client: new Client() });
const workspace = new Workspace({
  sandbox: new SvcSandbox(sandboxes),
  filesystem: new SvcFilesystem(sandboxes),
});
try {
  const agent = new Agent({
    id: 'coder',
    name: 'Coder',
    instructions: 'You write programs, and run them.',
    model: scriptedModel(),
    workspace,
  });
  const { text, toolResults } = await agent.generate('Which primes are below 30?', { maxSteps: 20 });
  for (const { payload } of toolResults) console.log(`${payload.toolName}: ${payload.result}`);
  console.log(text);
} finally {
  await workspace.destroy(); // and its sandbox
}

/** Asks for a file, then for its run, and answers with what it printed. */
function scriptedModel() {
  const program = 'print([n for n in range(2, 30) if all(n % d for d in range(2, n))])';
  const script = [
    { toolName: 'mastra_workspace_write_file', input: { path: 'primes.py', content: program } },
    { toolName: 'mastra_workspace_execute_command', input: { command: 'python3 primes.py' } },
  ];
  return new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
      const asked = script[results.length];
      const toolCallId = `call-${results.length}`;
      return {
        content: asked
          ? [{ type: 'tool-call', toolCallId, ...asked, input: JSON.stringify(asked.input) }]
          : [{ type: 'text', text: `They are ${results.at(-1).output.value.trim()}.` }],
        finishReason: { unified: asked ? 'tool-calls' : 'stop' },
        usage: { inputTokens: {}, outputTokens: {} },
        warnings: [],
      };
    },
  });
}
