import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Consumer, createConsumer } from '../../../scripts/pack-consumer.mjs';

let consumer: Consumer;
beforeAll(() => {
  consumer = createConsumer(['network-policy']);
});
afterAll(() => consumer?.dispose());

const use = `
const policy = policyFromSettings(readEgress({ denyOut: ['1.2.3.4/8'] }));
console.log(policy.denyOut[0], compilePolicy(policy).decide({ address: '1.1.1.1', port: 22 }).rule);
try { readEgress({ denyOut: ['1.0.0.0/08'] }); } catch (error) { console.log(error instanceof PolicyError); }
`;
const expected = '1.0.0.0/8 denyOut[0] 1.0.0.0/8\ntrue\n';
const names = '{ compilePolicy, PolicyError, policyFromSettings, readEgress }';

const typedUse = `
import { compilePolicy, type EgressPolicy, readEgress } from '@svc/network-policy';
export const policy: EgressPolicy = { allowOut: [], denyOut: [], rules: {} };
export const rule: string = compilePolicy(policy).decide({ address: '1.1.1.1', port: 22 }).rule;
// @ts-expect-error the types are real: entries are texts
readEgress({ denyOut: [1] });
`;

describe('the packed package', () => {
  it('works as an ECMAScript module and as CommonJS', () => {
    consumer.write('main.mjs', `import ${names} from '@svc/network-policy';${use}`);
    consumer.write('main.cjs', `const ${names} = require('@svc/network-policy');${use}`);
    expect([consumer.node('main.mjs'), consumer.node('main.cjs')]).toEqual([expected, expected]);
  });

  it('gives its types to both module systems', () => {
    consumer.write('esm.mts', typedUse);
    consumer.write('cjs.cts', typedUse);
    consumer.typecheck(['esm.mts', 'cjs.cts'], { module: 'NodeNext', moduleResolution: 'NodeNext' });
  });
});
