import { CliError, exitCodes } from './cli-error.js';

/** A failure, ready to be shown. */
export interface DescribedError {
  message: string;
  hint: string | undefined;
  code: string;
  status: number | undefined;
  requestId: string | undefined;
  retryable: boolean | undefined;
  exitCode: number;
}

/** The fields that are read of an SDK error; recognised by shape, so that the SDK need not be loaded to show a failure. */
interface SdkFailure extends Error {
  code: string;
  status?: number;
  requestId?: string;
  retryable: boolean;
}

/** Remedies on the command line, where the SDK's own advice names options of programs. */
const hints: Record<string, string> = {
  authentication: 'Check the key: `svc auth status` shows which one is used and where it comes from.',
  sandbox_not_found: '`svc sandbox list` shows the sandboxes that there are.',
  template_not_found: '`svc template list` shows the templates that there are.',
  secret_not_found: '`svc secret list` shows the secrets that there are.',
  volume_not_found: '`svc volume list` shows the volumes.',
  webhook_not_found: '`svc webhook list` shows the webhooks that there are.',
  connection:
    'Is the server up? `svc server status` shows a local one, `svc server up` starts it. `svc auth status` shows the address in use.',
  sandbox_gone: '`svc sandbox info ID` shows its state. `svc sandbox resume ID` resumes a paused one.',
};

/** Puts a failure into words. Pure. */
export function describeError(error: unknown): DescribedError {
  const blank = { status: undefined, requestId: undefined, retryable: undefined };
  if (error instanceof CliError) {
    const { message, hint, code, exitCode } = error;
    return { ...blank, message, hint, code, exitCode };
  }
  if (isSdkFailure(error)) {
    const { message, code, status, requestId, retryable } = error;
    return { message, hint: hints[code], code, status, requestId, retryable, exitCode: exitCodes.failure };
  }
  const failure = error instanceof Error ? error : new Error(String(error));
  const code = (failure as NodeJS.ErrnoException).code;
  return {
    ...blank,
    message: failure.message || failure.name,
    hint: undefined,
    code: typeof code === 'string' ? code : 'failed',
    exitCode: exitCodes.failure,
  };
}

function isSdkFailure(error: unknown): error is SdkFailure {
  return error instanceof Error && Symbol.for('svc.error.SvcError') in error;
}

/** The lines for a person, without colours. */
export function errorLines({ message, hint, requestId }: DescribedError): {
  headline: string;
  rest: string[];
} {
  const [headline = '', ...more] = message.split('\n');
  // The SDK's messages name the request already; a second time helps nobody.
  const request = requestId === undefined || message.includes(requestId) ? [] : [`Request id: ${requestId}`];
  return { headline, rest: [...more, ...(hint?.split('\n') ?? []), ...request] };
}

/** The record that `--json` prints, on standard error. */
export function errorRecord({ exitCode, hint, ...error }: DescribedError): object {
  return { error: { ...error, ...(hint === undefined ? {} : { hint }), exitCode } };
}
