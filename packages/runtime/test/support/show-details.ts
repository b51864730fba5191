import { beforeEach } from 'vitest';

// Prints the detail of a driver's error, which is kept from users: without it nobody sees why a test failed on another machine.
beforeEach(({ onTestFailed }) => {
  onTestFailed(({ task }) => {
    for (const error of task.result?.errors ?? []) {
      if (!('detail' in error) || typeof error.detail !== 'string') continue;
      const message = `${error.message}\nThe host said: ${error.detail}`;
      if (error.stack !== undefined) error.stack = error.stack.replace(error.message, () => message);
      error.message = message;
    }
  });
});
