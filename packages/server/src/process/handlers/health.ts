import { errors } from '../../api/errors/catalog.js';
import type { PartialHandlers } from '../../api/handler.js';

export const healthHandlers = {
  getHealth: ({ context }) => {
    if (context.draining()) throw errors.shuttingDown();
    return { status: 204 };
  },
} satisfies PartialHandlers;
