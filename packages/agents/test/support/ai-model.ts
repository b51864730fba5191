import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import type { Asked } from './script.js';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;

/** Asks for one call a turn, then says "done". */
export function scriptedModel(script: readonly Asked[]) {
  const model: MockLanguageModelV4 = new MockLanguageModelV4({
    doGenerate: async () => ({ ...turn(model.doGenerateCalls.length), usage, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = turn(model.doStreamCalls.length);
      const parts = content.flatMap((part): object[] =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: '1' },
              { type: 'text-delta', id: '1', delta: part.text },
              { type: 'text-end', id: '1' },
            ]
          : [part],
      );
      const stream = [
        { type: 'stream-start', warnings: [] },
        ...parts,
        { type: 'finish', usage, finishReason },
      ];
      return { stream: convertArrayToReadableStream(stream as never[]) };
    },
  });
  const turn = (count: number) => {
    const asked = script[count - 1];
    const content = asked
      ? {
          type: 'tool-call' as const,
          toolCallId: `call-${count}`,
          toolName: asked.tool,
          input: JSON.stringify(asked.input),
        }
      : { type: 'text' as const, text: 'done' };
    const unified = asked ? ('tool-calls' as const) : ('stop' as const);
    return { content: [content], finishReason: { unified, raw: undefined } };
  };
  return model;
}

/** Returns the answers of tools to the model, in order. */
export function toldTo(model: MockLanguageModelV4) {
  const { prompt } = [...model.doGenerateCalls, ...model.doStreamCalls].at(-1)!;
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
      : [],
  );
}
export const textsOf = (told: ReturnType<typeof toldTo>) =>
  told.map((output) => ('value' in output ? String(output.value) : output.type));
