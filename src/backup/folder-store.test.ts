import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { all } from '../../test/contracts/object-store.contract.ts';
import { withFolder } from '../../test/support/backup-story.ts';
import { someSeeds } from '../../test/support/share.ts';
import { SimulatedFolder } from '../../test/support/simulated-folder.ts';
import { Random } from '../testing/random.ts';
import { PowerCut } from '../testing/simulated-disk.ts';
import { MachineFolderFiles } from './folder-files.ts';
import { FolderStore } from './folder-store.ts';
import { StoreError } from './object-store.ts';
import { initRepository, openRepository } from './repository.ts';

function open(folder: string): FolderStore {
  return new FolderStore(folder, new MachineFolderFiles(folder));
}

it('[history 5.1] a folder store follows no link', () =>
  withFolder(async (folder) => {
    const elsewhere = path.join(folder, 'elsewhere');
    const root = path.join(folder, 'root');
    await mkdir(elsewhere);
    await mkdir(path.join(root, 'objects'), { recursive: true });
    await writeFile(path.join(elsewhere, 'secret'), 'secret');
    await symlink(elsewhere, path.join(root, 'linked'));
    await symlink(path.join(elsewhere, 'secret'), path.join(root, 'objects', 'file'));
    const store = open(root);
    const bytes = Buffer.from('x');
    await expect(store.put('linked/a', bytes)).rejects.toThrow(StoreError);
    await expect(store.head('linked/secret')).rejects.toThrow('linked is a symbolic link');
    await expect(store.replace('linked/secret', bytes)).rejects.toThrow(StoreError);
    await expect(store.delete('linked/secret')).rejects.toThrow(StoreError);
    await expect(all(store.get('objects/file'))).rejects.toThrow('is not a regular file');
    await expect(store.put('objects/file', bytes)).rejects.toThrow(StoreError);
    const listed = async () => {
      for await (const _ of store.list(''));
    };
    await expect(listed()).rejects.toThrow(StoreError);
    expect(await readdir(elsewhere)).toEqual(['secret']);
  }));

it('[history 5.1] a new repository creates its folder; nothing else does', () =>
  withFolder(async (folder) => {
    const root = path.join(folder, 'not', 'there');
    const store = open(root);
    await expect(store.put('a', Buffer.from('x'))).rejects.toThrow(
      `cannot write ${root}/a: ENOENT`,
    );
    await expect(openRepository(store)).rejects.toThrow('is no backup repository');
    expect(await readdir(folder)).toEqual([]);
    await initRepository(store, { nowMicros: 1 });
    expect((await openRepository(open(root))).isEncrypted).toBe(false);
  }));

it('[history 5.19] what was never completed in a folder is removed when it is old', () =>
  withFolder(async (folder) => {
    const store = open(folder);
    await store.put('a', Buffer.from('x'));
    for (const name of ['old', 'new']) await writeFile(path.join(folder, '.uploads', name), 'x');
    await utimes(path.join(folder, '.uploads', 'old'), 1_000, 1_000);
    expect(await store.sweep(2_000_000_000, true)).toBe(1);
    expect(await store.sweep(2_000_000_000, false)).toBe(1);
    expect(await readdir(path.join(folder, '.uploads'))).toEqual(['new']);
  }));

it('[history 5.1] an error of the system names the file and its code', () =>
  withFolder(async (folder) => {
    await writeFile(path.join(folder, 'file'), 'x');
    const store = open(path.join(folder, 'file'));
    await expect(store.put('a/b', Buffer.from('x'))).rejects.toThrow(
      `cannot write ${path.join(folder, 'file')}/a/b: ENOTDIR`,
    );
  }));

/** What a run of puts leaves in a folder when the power fails, or the disk does, at any moment. */
async function puts(folder: SimulatedFolder, promised: Set<string>): Promise<void> {
  const store = new FolderStore('simulated', folder);
  for (const name of ['a', 'b/c', 'b/d', 'e/f/g']) {
    await store.put(name, Buffer.from(name.repeat(700)));
    promised.add(name);
  }
  await store.replace('archive/x', Buffer.from('old'));
  promised.add('archive/x');
  await store.replace('archive/x', Buffer.from('new'));
}

it.each(someSeeds(1, 4))(
  '[history 5.4, I6] objects survive a power cut whole from when they were put, seed %i',
  async (seed) => {
    const whole = new SimulatedFolder();
    await puts(whole, new Set());
    expect(whole.operationCount).toBeGreaterThan(30);
    for (let at = 1; at <= whole.operationCount; at++) {
      const folder = new SimulatedFolder();
      folder.stopAt(at);
      const promised = new Set<string>();
      await expect(puts(folder, promised)).rejects.toThrow(PowerCut);
      const store = new FolderStore('after', folder.afterCut(new Random(seed * 1000 + at)));
      for (const name of ['a', 'b/c', 'b/d', 'e/f/g']) {
        const found = await store.head(name);
        if (found === undefined) expect(promised, `${name} at ${at}`).not.toContain(name);
        else expect((await all(store.get(name))).toString()).toBe(name.repeat(700));
      }
      const said = await store.head('archive/x');
      if (said === undefined) expect(promised).not.toContain('archive/x');
      else expect((await all(store.get('archive/x'))).toString()).toMatch(/^(old|new)$/);
      // Putting again what is missing ends with all of it.
      await puts(folder.afterCut(new Random(seed * 1000 + at)), new Set());
    }
  },
);

it('[history 5.3] a disk that refuses leaves no object in part, at any operation', async () => {
  const whole = new SimulatedFolder();
  await puts(whole, new Set());
  for (let at = 1; at <= whole.operationCount; at++) {
    const folder = new SimulatedFolder();
    folder.failAt(at, at % 2 === 0 ? 'ENOSPC' : 'EIO');
    await puts(folder, new Set()).catch((error: unknown) => {
      expect(error).toBeInstanceOf(StoreError);
      if (at % 2 === 0) expect(String(error)).toContain('its disk is full; make room there, or ');
    });
    const store = new FolderStore('after', folder);
    for await (const { name, bytes } of store.list('')) {
      if (name !== 'archive/x') expect(bytes).toBe(name.length * 700);
    }
    await puts(folder, new Set());
  }
});
