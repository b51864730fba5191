import { test } from 'vitest';
import { describeConformance } from '../src/run/describe-conformance.js';
import { openUrlTarget } from '../src/targets/url.js';

const target = await openUrlTarget(process.env);

if (target !== undefined) describeConformance('url', async () => target);
else
  test.skip('conformance on a URL: SVC_CONFORMANCE_API_URL, _SANDBOX_URL and _API_KEY are not set', () => {});
