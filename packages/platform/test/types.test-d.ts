import { describe, expectTypeOf, it } from 'vitest';
import type {
  BodyOf,
  ErrorCode,
  ErrorRecord,
  FailureOf,
  ListedSandbox,
  NewSandboxV2,
  OperationId,
  PathOf,
  QueryOf,
  Sandbox,
  SuccessOf,
  VolumeEntryStat,
} from '../src/index.js';
import { createPlatformClient, type platformOperations } from '../src/index.js';

describe('request bodies', () => {
  it('require what the service requires', () => {
    expectTypeOf<BodyOf<'createSandboxV2'>>().toEqualTypeOf<NewSandboxV2>();
    expectTypeOf<{ templateID: string }>().toExtend<NewSandboxV2>();
    // @ts-expect-error templateID is required
    ({}) satisfies NewSandboxV2;
    // @ts-expect-error a number is no template
    ({ templateID: 1 }) satisfies NewSandboxV2;
  });

  it('leave to the service what it has defaults for', () => {
    expectTypeOf<undefined>().toExtend<NewSandboxV2['timeout']>();
    expectTypeOf<undefined>().toExtend<NewSandboxV2['allow_internet_access']>();
    expectTypeOf<Record<never, never>>().toExtend<BodyOf<'forkSandbox'>>();
    expectTypeOf<{ templateID: string }>().not.toExtend<Required<NewSandboxV2>>();
  });

  it('refuse an explicit undefined, which would not be absent', () => {
    const timeout = undefined as number | undefined;
    // @ts-expect-error absent means absent
    ({ templateID: 'base', timeout }) satisfies NewSandboxV2;
  });
});

describe('responses', () => {
  it('are found by operationId', () => {
    expectTypeOf<SuccessOf<'createSandboxV2'>>().toEqualTypeOf<Sandbox>();
    expectTypeOf<SuccessOf<'listSandboxesV2'>>().toEqualTypeOf<ListedSandbox[]>();
    expectTypeOf<SuccessOf<'killSandbox'>>().toEqualTypeOf<undefined>();
    expectTypeOf<SuccessOf<'getVolumePath'>>().toEqualTypeOf<VolumeEntryStat>();
    expectTypeOf<FailureOf<'createSandboxV2'>>().toEqualTypeOf<ErrorRecord>();
  });

  it('carry error codes that nobody knows yet', () => {
    expectTypeOf<'sandbox_capacity_unavailable'>().toExtend<ErrorCode>();
    expectTypeOf<'invented_tomorrow'>().toExtend<ErrorCode>();
    expectTypeOf<string>().toExtend<ErrorCode>();
    expectTypeOf<number>().not.toExtend<ErrorCode>();
  });
});

describe('parameters', () => {
  it('are found by operationId', () => {
    expectTypeOf<PathOf<'killSandbox'>>().toEqualTypeOf<{ sandboxID: string }>();
    expectTypeOf<QueryOf<'listSandboxesV2'>['order']>().toEqualTypeOf<'asc' | 'desc' | undefined>();
    expectTypeOf<'noSuchOperation'>().not.toExtend<OperationId>();
  });

  it('are required by the client', () => {
    const client = createPlatformClient({ baseUrl: 'http://platform.test' });
    // @ts-expect-error the path parameter is missing
    void (() => client.DELETE('/sandboxes/{sandboxID}', { params: { path: {} } }));
    // @ts-expect-error there is no such path
    void (() => client.GET('/nowhere'));
  });
});

describe('deprecated operations', () => {
  it('are marked', () => {
    type Operations = typeof platformOperations;
    type Deprecated = {
      [Id in keyof Operations]: Operations[Id] extends { deprecated: true } ? Id : never;
    }[keyof Operations];
    expectTypeOf<'createSandbox' | 'listSandboxes'>().toExtend<Deprecated>();
    expectTypeOf<'createSandboxV2'>().not.toExtend<Deprecated>();
  });
});
