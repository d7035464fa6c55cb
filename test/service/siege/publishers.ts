import { buildModule } from '../../../src/bundle/build-module.ts';
import { hostileSource } from '../../hostile/programs.ts';
import { type Attacker, bothModes, strike } from './attacker.ts';

const mebibyte = 1024 * 1024;

/** A source map whose file name is long, behind a program that is none. */
function hugeSourceMap(): string {
  const map = { version: 3, sources: ['x'.repeat(20 * mebibyte)], names: [], mappings: 'AAAA' };
  const text = Buffer.from(JSON.stringify(map)).toString('base64');
  return `export default 1;\n//# sourceMappingURL=data:application/json;base64,${text}`;
}

/** Names for which a linker looks when it needs one that the program does not use. */
function usedNames(): string {
  const names = Array.from({ length: 100_000 }, (_, n) => `importExpression${n}`);
  return `const x = '${names.join(' ')}'; export default x;`;
}

const texts: readonly (() => Promise<string | Uint8Array> | string | Uint8Array)[] = [
  () => '('.repeat(800_000),
  () => 'a;'.repeat(15_000_000),
  async () => (await buildModule(hostileSource('loop-at-top-level'))).program,
  async () => (await buildModule(hostileSource('heap-at-top-level'))).program,
  async () => (await buildModule(hostileSource('loop-in-describe'))).program,
  hugeSourceMap,
  usedNames,
  () => '`${'.repeat(200_000),
  () => Buffer.alloc(4 * mebibyte, 0xff),
  () => 'export default {};',
];

const programs: (string | Uint8Array)[] = [];

/** Programs that hurt whoever reads, links or examines them. */
export const publishers: readonly Attacker[] = [
  {
    name: 'hostile publishes',
    modes: bothModes,
    atOnce: 1,
    pauseMillis: 1_000,
    async prepare() {
      for (const text of texts) programs.push(await text());
    },
    async attack(field, round) {
      const body = programs[round % programs.length] ?? '';
      const where = `/v1/database/publishes-${round % 7}?host_type=Js`;
      return strike(field, where, { method: 'PUT', body, as: field.stranger, millisMax: 60_000 });
    },
  },
];
