import { describe, expect, it } from 'vitest';
import { errorFromAnswer, type FailedAnswer } from '../../src/errors/from-answer.js';
import { errorFromNetwork } from '../../src/errors/from-network.js';
import {
  CapacityError,
  CommandExitError,
  ConnectionError,
  NotFoundError,
  SandboxNotFoundError,
  ServerError,
  SvcError,
  TimeoutError,
} from '../../src/index.js';
import { refused, reset } from '../support/scripted-fetch.js';

const failed = (answer: Partial<FailedAnswer>) =>
  errorFromAnswer({
    status: 500,
    headers: new Headers(),
    service: 'platform',
    operation: 'sandboxes.get',
    nowMs: 0,
    ...answer,
  });

describe('errorFromAnswer', () => {
  it.each([
    [400, {}, 'InvalidRequestError', false],
    [401, {}, 'AuthenticationError', false],
    [403, {}, 'PermissionError', false],
    [404, {}, 'NotFoundError', false],
    [404, { resource: 'sandbox' }, 'SandboxNotFoundError', false],
    [404, { resource: 'template' }, 'TemplateNotFoundError', false],
    [404, { resource: 'file' }, 'FileNotFoundError', false],
    [404, { resource: 'process' }, 'ProcessNotFoundError', false],
    [404, { resource: 'secret' }, 'SecretNotFoundError', false],
    [404, { resource: 'volume' }, 'VolumeNotFoundError', false],
    [404, { resource: 'webhook' }, 'WebhookNotFoundError', false],
    [408, {}, 'TimeoutError', true],
    [409, {}, 'ConflictError', false],
    [413, {}, 'InvalidRequestError', false],
    [429, {}, 'RateLimitError', true],
    [500, {}, 'ServerError', false],
    [502, {}, 'ServerError', true],
    [502, { service: 'sandbox' }, 'SandboxGoneError', false],
    [503, {}, 'ServerError', true],
    [503, { body: { message: 'm', error_code: 'sandbox_capacity_unavailable' } }, 'CapacityError', true],
    [503, { body: { message: 'm', error_code: 'sandbox_no_compatible_node' } }, 'CapacityError', false],
    [503, { body: { message: 'm', error_code: 'sandbox_feature_unsupported' } }, 'CapacityError', false],
    [504, { body: { message: 'm', error_code: 'sandbox_placement_timeout' } }, 'CapacityError', true],
    [500, { body: { message: 'm', error_code: 'sandbox_create_failed' } }, 'ServerError', false],
    [409, { body: { message: 'm', error_code: 'idempotency_in_progress' } }, 'ConflictError', true],
    [422, { body: { message: 'm', error_code: 'idempotency_outcome_unknown' } }, 'ConflictError', false],
    [507, { service: 'sandbox' }, 'StorageFullError', false],
  ] as const)('makes status %s with %j a %s', (status, rest, name, retryable) => {
    const error = failed({ status, ...rest } as Partial<FailedAnswer>);
    expect({ name: error.name, retryable: error.retryable, status: error.status }).toEqual({
      name,
      retryable,
      status,
    });
  });

  it('carries everything the answer said', () => {
    const headers = new Headers({
      'x-request-id': 'req-1',
      'retry-after': '3',
      'ratelimit-limit': '10',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '7',
    });
    const error = failed({
      status: 429,
      headers,
      body: { code: 429, message: 'slow down', error_code: 'new_code' },
    });
    expect(error).toMatchObject({
      code: 'rate_limit',
      requestId: 'req-1',
      errorCode: 'new_code',
      retryAfterMs: 3000,
      rateLimit: { limit: 10, remaining: 0, resetMs: 7000 },
      operation: 'sandboxes.get',
      message:
        'sandboxes.get: slow down. Wait 3 s before the next attempt, or spread the requests. (status 429, request req-1)',
    });
  });

  it('reads a Retry-After date against the clock', () => {
    const headers = new Headers({ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' });
    expect(failed({ status: 503, headers, nowMs: 4000 }).retryAfterMs).toBe(6000);
  });

  it('works from the status alone when the body is empty', () => {
    expect(failed({ status: 404, resource: 'sandbox' }).message).toContain('HTTP 404');
  });
});

describe('errorFromNetwork', () => {
  const call = {
    operation: 'sandboxes.list',
    url: 'http://u:p@host:1/v2/sandboxes?token=x',
    service: 'platform',
  } as const;

  it('says where nothing listens and which option to check, without secrets', () => {
    const error = errorFromNetwork(refused(), call);
    expect(error).toMatchObject({ name: 'ConnectionError', unsent: true, retryable: true });
    expect(error.message).toContain('no answer from http://host:1: nothing listens there');
    expect(error.message).toContain('SVC_API_URL');
    expect(error.message).not.toMatch(/token|u:p/);
  });

  it('does not claim that a request was never sent when the connection broke later', () => {
    expect(errorFromNetwork(reset(), call)).toMatchObject({ unsent: false });
  });
});

describe('SvcError.is', () => {
  it('recognises a class and everything below it', () => {
    const error = new SandboxNotFoundError('gone');
    expect([SvcError, NotFoundError, SandboxNotFoundError].every((type) => type.is(error))).toBe(true);
    expect([TimeoutError, CapacityError, ConnectionError].some((type) => type.is(error))).toBe(false);
    expect(error.name).toBe('SandboxNotFoundError');
  });

  it('recognises an error of another copy of the package', () => {
    class Foreign extends Error {}
    const foreign = Object.assign(new Foreign('x'), {
      [Symbol.for('svc.error.SvcError')]: true,
      [Symbol.for('svc.error.NotFoundError')]: true,
    });
    expect(NotFoundError.is(foreign)).toBe(true);
    expect(SandboxNotFoundError.is(foreign)).toBe(false);
  });

  it.each([undefined, null, 'text', {}, new Error('plain')])('refuses %s', (value) => {
    expect(SvcError.is(value)).toBe(false);
  });
});

it('shows the end of what a failed command wrote', () => {
  const error = new CommandExitError('make all', {
    exitCode: 2,
    stdout: '',
    stderr: 'no rule\n',
    error: 'exit status 2',
  });
  expect(error.message).toBe('Command ended with exit status 2: make all\nno rule');
  expect(error).toMatchObject({ exitCode: 2, stderr: 'no rule\n', code: 'command_exit', retryable: false });
});

it('does not take a web page of something else for the word of the service', () => {
  const headers = new Headers({ 'content-type': 'text/html; charset=utf-8' });
  const answer = {
    headers,
    body: '<h1>Not Found</h1>',
    service: 'platform',
    operation: 'secrets.delete',
    resource: 'secret',
    nowMs: 0,
  } as const;
  const error = errorFromAnswer({ ...answer, status: 404 });
  expect(ServerError.is(error)).toBe(true);
  expect(NotFoundError.is(error)).toBe(false);
  expect(error.message).toMatch(/check that apiUrl/);
  expect(error.message).not.toContain('<h1>');
  expect(errorFromAnswer({ ...answer, status: 503 }).retryable).toBe(true);
});
