import { beforeEach } from 'vitest';

// What the host said, which a driver's error keeps from users: without it nobody can tell why a test failed elsewhere.
beforeEach(({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    for (const error of task.result?.errors ?? []) {
      if (!('detail' in error) || typeof error.detail !== 'string') continue;
      const told = `${error.message}\nThe host said: ${error.detail}`;
      if (error.stack !== undefined) error.stack = error.stack.replace(error.message, () => told);
      error.message = told;
    }
  });
});
