// Sandboxes for deep agents.
export { SandboxBackend, type SandboxBackendOptions } from './sandbox-backend.js';
