export { codeInterpreter, codeInterpreterAlias, codeInterpreterName } from './template.js';
