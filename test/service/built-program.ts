import path from 'node:path';
import { buildModule } from '../../src/bundle/build-module.ts';
import { root } from './harness.ts';

const built = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

/** Builds one of the module projects of the tests, or an example; each once in a process. */
export function program(module: string): Promise<Uint8Array<ArrayBuffer>> {
  const known = built.get(module) ?? build(module);
  built.set(module, known);
  return known;
}

async function build(module: string): Promise<Uint8Array<ArrayBuffer>> {
  const folder = path.join(root, module.includes('/') ? module : `test/fixtures/modules/${module}`);
  return new Uint8Array((await buildModule(folder, {})).program);
}
