import type { ServerOptions } from '@svc/server';

/** The kind of sandboxes under test: plain processes, containers of the `linux` driver, on gVisor's kernel, or of an Incus cluster. */
export type Tier = 'process' | 'linux' | 'gvisor' | 'incus';

/** Settings of the server under test: as an operator would have it, but in a hurry. */
export function embeddedOptions(dataDir: string, tier: Tier): ServerOptions {
  return {
    dataDir,
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: 0,
    driver: tier === 'gvisor' ? 'linux' : tier,
    ...(tier === 'process' ? {} : { isolation: tier === 'gvisor' ? 'gvisor' : 'container' }),
    logLevel: (process.env.SVC_CONFORMANCE_LOG as ServerOptions['logLevel']) ?? 'silent',
    poolSize: tier === 'process' ? 0 : 2,
    base: { cpuCount: 1, memoryMiB: 256, diskMiB: 512 },
    rateLimits: { general: { rate: 10_000, burst: 100_000 }, create: { rate: 10_000, burst: 100_000 } },
    teamLimits: { maxConcurrentSandboxes: 500, maxSecrets: 500, maxWebhooks: 500 },
    tuning: {
      metrics: { sampleMs: 500 },
      webhooks: { allowPrivateAddresses: true, retryDelaysMs: [50, 50, 50], timeoutMs: 20_000 },
      minAutoResumeSeconds: 300,
    },
  };
}
