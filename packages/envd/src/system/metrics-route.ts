import type { ServerResponse } from 'node:http';
import type { EnvdContext } from '../context.js';
import { sendJson } from '../http/rest.js';
import { readMetrics } from './metrics.js';

/** @wire GET /metrics */
export async function sendMetrics(response: ServerResponse, context: EnvdContext): Promise<void> {
  const metrics = await readMetrics(context.now);
  sendJson(response, 200, metrics, { 'Cache-Control': 'no-store' });
}
