// An agent of the Vercel AI SDK with a sandbox of its own. The model is a scripted stand-in; put a real one in its place.
import { sandboxTools, ToolSandboxes } from '@svc/agents/ai-sdk';
import { Client } from '@svc/sdk';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const sandboxes = new ToolSandboxes({ client: new Client() });
try {
  const { steps, text } = await generateText({
    model: scriptedModel(),
    tools: sandboxTools(sandboxes),
    stopWhen: isStepCount(20),
    prompt: 'Which primes are below 30? Write a program, and run it.',
  });
  for (const { content } of steps)
    for (const part of content)
      if (part.type === 'tool-result') console.log(`${part.toolName}: ${part.output}`);
  console.log(text);
} finally {
  await sandboxes.close();
}

/** Asks for a file, then for its run, and answers with what it printed. */
function scriptedModel() {
  const program = 'print([n for n in range(2, 30) if all(n % d for d in range(2, n))])';
  const script = [
    { toolName: 'write_file', input: { path: 'primes.py', content: program } },
    { toolName: 'run_command', input: { command: 'python3 primes.py' } },
  ];
  return new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
      const asked = script[results.length];
      const toolCallId = `call-${results.length}`;
      return {
        content: asked
          ? [{ type: 'tool-call', toolCallId, ...asked, input: JSON.stringify(asked.input) }]
          : [{ type: 'text', text: `They are ${results.at(-1).output.value.split('\n').at(2)}.` }],
        finishReason: { unified: asked ? 'tool-calls' : 'stop' },
        usage: { inputTokens: {}, outputTokens: {} },
        warnings: [],
      };
    },
  });
}
