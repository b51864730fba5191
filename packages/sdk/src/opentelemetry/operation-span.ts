import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import type { OperationEvent, OperationStart } from '../core/telemetry.js';
import { SvcError } from '../errors/svc-error.js';
import { answerAttributes, bounded, errorType, nameOf, requestAttributes } from './attributes.js';
import type { Instruments } from './instruments.js';

/** Turns what happens to one operation into its span and metrics. */
export class OperationSpan {
  readonly #span: Span;
  readonly #start: OperationStart;
  readonly #instruments: Instruments;
  readonly #startedAt = performance.now();
  #status: number | undefined;
  #ended = false;

  constructor(span: Span, start: OperationStart, instruments: Instruments) {
    this.#span = span;
    this.#start = start;
    this.#instruments = instruments;
    if (start.process) instruments.active(1);
  }

  tell(event: OperationEvent): void {
    const span = this.#span;
    switch (event.type) {
      case 'request':
        if (span.isRecording()) span.setAttributes(requestAttributes(event.method, event.url));
        return;
      case 'response':
        this.#status = event.status;
        if (!span.isRecording()) return;
        span.setAttribute('http.response.status_code', event.status);
        if (event.requestId !== undefined) span.setAttribute('svc.request.id', bounded(event.requestId));
        if (event.attempt > 1) span.setAttribute('http.request.resend_count', event.attempt - 1);
        return;
      case 'retry':
        this.#retry(event);
        return;
      case 'answer':
        if (span.isRecording()) span.setAttributes(answerAttributes(event.data));
        return;
      case 'transfer': {
        const { direction, bytes } = event;
        span.setAttribute(direction === 'sent' ? 'svc.io.sent' : 'svc.io.received', bytes);
        this.#instruments.transfer(bytes, { 'svc.io.direction': direction });
        return;
      }
      case 'started':
        span.setAttribute('process.pid', event.pid);
        span.addEvent('started');
        return;
      case 'reattached': {
        const { lostBytes } = event;
        // An unknown number is no number on the wire.
        span.addEvent('reattached', Number.isFinite(lostBytes) ? { 'svc.lost_bytes': lostBytes } : {});
        return;
      }
      case 'end':
        this.#end(event);
    }
  }

  #retry({ attempt, delayMs, status, error }: Extract<OperationEvent, { type: 'retry' }>): void {
    const why = status ?? errorType(error, false);
    this.#span.addEvent('retry', {
      'svc.attempt': attempt,
      'svc.delay_ms': delayMs,
      ...(status === undefined ? { 'error.type': why } : { 'http.response.status_code': status }),
    });
    this.#instruments.retry({ ...this.#name(), 'error.type': String(why) });
  }

  #end({ error, aborted = false, exitCode }: Extract<OperationEvent, { type: 'end' }>): void {
    if (this.#ended) return;
    this.#ended = true;
    const span = this.#span;
    const failure = failureOf(error, aborted, exitCode);
    if (exitCode !== undefined) span.setAttribute('process.exit.code', exitCode);
    if (SvcError.is(error) && error.status !== undefined && this.#status === undefined)
      span.setAttribute('http.response.status_code', error.status);
    if (SvcError.is(error) && error.code === 'disconnected') span.addEvent('disconnected');
    if (failure !== undefined) {
      span.setAttribute('error.type', failure);
      span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    }
    span.end();
    this.#measure(failure);
  }

  #measure(failure: string | undefined): void {
    const seconds = (performance.now() - this.#startedAt) / 1000;
    const attributes = { ...this.#name(), ...(failure === undefined ? {} : { 'error.type': failure }) };
    if (this.#start.process) {
      this.#instruments.active(-1);
      this.#instruments.command(seconds, attributes);
      return;
    }
    this.#instruments.request(seconds, {
      ...attributes,
      ...(this.#status === undefined ? {} : { 'http.response.status_code': this.#status }),
    });
  }

  #name(): Attributes {
    const { operation, service } = this.#start;
    return { 'svc.operation': nameOf(operation), 'svc.service': service };
  }
}

/** Why an operation failed; undefined when it did not: leaving a program to itself is no failure. */
function failureOf(error: unknown, aborted: boolean, exitCode: number | undefined): string | undefined {
  if (error === undefined) return exitCode === undefined || exitCode === 0 ? undefined : 'command_exit';
  if (!aborted && SvcError.is(error) && error.code === 'disconnected') return undefined;
  return errorType(error, aborted);
}
