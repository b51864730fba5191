import { expect, it } from 'vitest';
import { assertComplete } from '../../src/api/completeness.js';
import { readPlatformDocument } from '../../src/api/document.js';
import { platformRoutes } from '../../src/api/route-table.js';
import { handlers } from '../../src/process/handlers.js';

const routes = platformRoutes(readPlatformDocument());

it('every operation of the document has a handler, and every handler an operation', () => {
  expect(() => assertComplete(routes, handlers)).not.toThrow();
});

it('a missing and a surplus handler are named', () => {
  const { getHealth: _, ...rest } = handlers;
  expect(() => assertComplete(routes, { ...rest, nonsense: () => ({}) } as never)).toThrow(
    /no handler for getHealth.*no operation for the handlers nonsense/,
  );
});
