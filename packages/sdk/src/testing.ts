export { faults, json, type Reply } from './testing/script.js';
export { type ScriptedCommand, type SeenCommand, TestDaemon } from './testing/test-daemon.js';
export { type SeenRequest, TestFetch } from './testing/test-fetch.js';
export { createTestService, type TestService } from './testing/test-service.js';
