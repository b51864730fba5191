import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Placeholder } from '@svc/network-policy';
import type { AnswerRequest, QuestionSchema } from '../gen/egress/egress_pb.js';
import { Counts } from '../limits/counts.js';
import type { EgressSandbox } from './types.js';

type QuestionMessage = MessageInitShape<typeof QuestionSchema>;

const ANSWER_MS = 10_000;
const MAX_WAITING = 10_000;
/** Of one sandbox: one that asks and asks leaves room for others. */
const MAX_WAITING_PER_SANDBOX = 1_000;

/** There was no answer. What the server said of it stays with the server. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError';
  constructor() {
    super('The server gave no answer.');
  }
}

/** Questions to the server that wait for their answers. */
export class Questions {
  readonly #waiting = new Map<
    string,
    { settle(answer: AnswerRequest['answer']): void; message: QuestionMessage }
  >();
  readonly #waitingOf = new Counts();
  readonly #answerMs: number;
  #send: ((message: QuestionMessage) => void) | undefined;

  constructor({ answerMs = ANSWER_MS } = {}) {
    this.#answerMs = answerMs;
  }

  /** Sends questions to a server from now on, those first that wait already; undefined while there is none. */
  sendTo(send: ((message: QuestionMessage) => void) | undefined): void {
    this.#send = send;
    if (send !== undefined) for (const { message } of this.#waiting.values()) send(message);
  }

  /** True when there is a server to answer. */
  get answered(): boolean {
    return this.#send !== undefined;
  }

  /** @throws {NoAnswerError} */
  async dns(sandbox: EgressSandbox, query: Uint8Array): Promise<Uint8Array> {
    const answer = await this.#ask(sandbox, { case: 'dns', value: query });
    if (answer.case !== 'dns') throw new NoAnswerError();
    return answer.value;
  }

  /** @throws {NoAnswerError} when one is unknown or revoked, and when nobody answers */
  async placeholders(
    sandbox: EgressSandbox,
    host: string,
    placeholders: readonly Placeholder[],
  ): Promise<string[]> {
    const answer = await this.#ask(sandbox, {
      case: 'placeholders',
      value: { host, placeholders: [...placeholders] },
    });
    if (answer.case !== 'values' || answer.value.values.length !== placeholders.length)
      throw new NoAnswerError();
    return answer.value.values;
  }

  answer({ id, answer }: AnswerRequest): void {
    this.#waiting.get(id)?.settle(answer);
  }

  #ask(sandbox: EgressSandbox, question: QuestionMessage['question'] & {}): Promise<AnswerRequest['answer']> {
    if (this.#waiting.size >= MAX_WAITING || this.#waitingOf.of(sandbox.id) >= MAX_WAITING_PER_SANDBOX)
      return Promise.reject(new NoAnswerError());
    const leave = this.#waitingOf.add(sandbox.id);
    const id = randomUUID();
    const message = { id, sandboxId: sandbox.id, execution: sandbox.execution ?? '', question };
    return new Promise((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        leave();
      };
      const timer = setTimeout(() => {
        finish();
        reject(new NoAnswerError());
      }, this.#answerMs);
      const settle = (answer: AnswerRequest['answer']) => {
        finish();
        resolve(answer);
      };
      this.#waiting.set(id, { settle, message });
      this.#send?.(message);
    });
  }
}
