import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
// @ts-expect-error: a script without types of its own
import { bundleSizes } from '../../scripts/bundle-size.mjs';

interface Size {
  readonly name: string;
  readonly bytes: number;
  readonly bytesMax: number;
  readonly modules: readonly string[];
  readonly text: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

const sizes: Size[] = await bundleSizes(path.join(root, 'src'), '.ts');

describe('what a page has to load', () => {
  it.each(sizes)('[client-sdk 18] $name stays within its budget', ({ bytes, bytesMax }) => {
    expect(bytes).toBeLessThanOrEqual(bytesMax);
  });

  it.each(sizes)('[client-sdk 20.7] $name has no module, engine or Node in it', (size) => {
    const rooms = new Set(size.modules.map((file) => /^([a-z-]+)\//.exec(file)?.[1]));
    rooms.delete(undefined);
    const allowed = ['client', 'react', 'declare', 'protocol', 'schema', 'values'];
    expect([...rooms].filter((room) => !allowed.includes(room ?? ''))).toEqual([]);
    expect(size.modules).not.toContain('limits.ts');
    expect(size.text).not.toMatch(/node:|new Function|\beval\b|require\(/);
    const imported = [...size.text.matchAll(/from"([^"]*)"/g)].map(([, name]) => name);
    expect(imported.filter((name) => name !== 'react')).toEqual([]);
  });

  it.each(sizes)('[client-sdk 18] $name touches nothing when it is loaded', ({ text }) => {
    // Contexts are made when the hooks are loaded; they touch nothing either.
    const react = (_: string, names: string) =>
      `const {${names.replaceAll(' as ', ':')}} = { createContext: () => ({}) };`;
    const program = text
      .replace(/export\s*\{[^}]*\};?\s*$/, '')
      .replace(/import\{([^}]*)\}from"react";/g, react);
    // A realm with nothing but the language, in which nothing may be changed.
    const realm = createContext({});
    const names = () => runInContext('Reflect.ownKeys(globalThis).map(String).join()', realm);
    const before = names();
    runInContext(
      `for (const name of Object.getOwnPropertyNames(globalThis)) {
         const { prototype } = globalThis[name] ?? {};
         if (prototype) Object.freeze(prototype);
       }`,
      realm,
    );
    runInContext(`(() => { 'use strict'; ${program} })()`, realm);
    expect(names()).toBe(before);
  });
});
