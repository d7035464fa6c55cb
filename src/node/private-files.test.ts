import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MachineDisk } from './disk.ts';
import { LogFile } from './log-file.ts';
import { LinkError, tightenFolder } from './private-files.ts';
import { SyncedLines } from './synced-lines.ts';

let root = '';
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'reducerdb-private-'));
});
afterEach(() => fs.rmSync(root, { recursive: true }));

const modeOf = (place: string) => fs.statSync(path.join(root, place)).mode & 0o777;
const bounds = { fileBytesMax: 1_000, daysMax: 2 };
const isPosix = process.platform !== 'win32';

describe.runIf(isPosix)('files and folders of the data', () => {
  it('are made for their user alone, whatever the mask of the process', async () => {
    const before = process.umask(0);
    try {
      fs.mkdirSync(path.join(root, 'disk'));
      new MachineDisk(path.join(root, 'disk')).open('segment', 'create').close();
      const log = new LogFile(path.join(root, 'a/module-logs'), bounds);
      log.append('{}', 0);
      log.close();
      const lines = await SyncedLines.open(path.join(root, 'b/audit'));
      await lines.append('{}', 0);
      await lines.close();
    } finally {
      process.umask(before);
    }
    expect(modeOf('disk/segment')).toBe(0o600);
    expect([modeOf('a'), modeOf('a/module-logs')]).toEqual([0o700, 0o700]);
    expect(modeOf('a/module-logs/1970-01-01.log')).toBe(0o600);
    expect([modeOf('b'), modeOf('b/audit')]).toEqual([0o700, 0o700]);
    expect(modeOf('b/audit/1970-01.jsonl')).toBe(0o600);
  });

  it('that others can read are tightened; what links lead to is left alone', () => {
    fs.mkdirSync(path.join(root, 'data/log-1'), { recursive: true, mode: 0o755 });
    fs.writeFileSync(path.join(root, 'data/log-1/segment'), 'x', { mode: 0o644 });
    fs.writeFileSync(path.join(root, 'data/fine'), 'x', { mode: 0o600 });
    fs.writeFileSync(path.join(root, 'outside'), 'x', { mode: 0o644 });
    fs.chmodSync(path.join(root, 'outside'), 0o644);
    fs.symlinkSync(path.join(root, 'outside'), path.join(root, 'data/link'));
    const complaints: string[] = [];
    const complain = (problem: string) => complaints.push(problem);
    expect(tightenFolder(path.join(root, 'data'), complain)).toBe(3);
    expect(tightenFolder(path.join(root, 'data'), complain)).toBe(0);
    expect(complaints).toEqual([]);
    const modes = ['data', 'data/log-1', 'data/log-1/segment', 'outside'].map(modeOf);
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o644]);
    expect(tightenFolder(path.join(root, 'absent'), complain)).toBe(0);
  });
});

describe.runIf(isPosix)('a symbolic link', () => {
  const linked = (place: string) => {
    fs.mkdirSync(path.join(root, 'elsewhere'), { recursive: true });
    fs.mkdirSync(path.dirname(path.join(root, place)), { recursive: true });
    fs.symlinkSync(path.join(root, 'elsewhere'), path.join(root, place));
  };

  it('[rulings 3.5] is refused as the folder of a log, of its database, as a segment', () => {
    linked('db/log-1');
    expect(() => new MachineDisk(path.join(root, 'db/log-1')).list()).toThrow('symbolic link');
    linked('linked-db');
    fs.mkdirSync(path.join(root, 'elsewhere/log-1'));
    const disk = new MachineDisk(path.join(root, 'linked-db/log-1'));
    expect(() => disk.list()).toThrow(/linked-db is a symbolic link/);
    fs.mkdirSync(path.join(root, 'own'));
    fs.writeFileSync(path.join(root, 'elsewhere/target'), 'secret');
    fs.symlinkSync(path.join(root, 'elsewhere/target'), path.join(root, 'own/segment'));
    const own = new MachineDisk(path.join(root, 'own'));
    expect(() => own.list()).toThrow(/own\/segment is a symbolic link/);
    expect(() => own.open('segment', 'existing')).toThrow('ELOOP');
  });

  it('is refused as a module log and as its folder', () => {
    linked('db/module-logs');
    expect(() => new LogFile(path.join(root, 'db/module-logs'), bounds)).toThrow(LinkError);
    const directory = path.join(root, 'other/module-logs');
    const log = new LogFile(directory, bounds);
    fs.writeFileSync(path.join(root, 'elsewhere/target'), '');
    fs.symlinkSync(path.join(root, 'elsewhere/target'), path.join(directory, '1970-01-01.log'));
    expect(() => log.append('{"stolen":1}', 0)).toThrow('ELOOP');
    expect(fs.readFileSync(path.join(root, 'elsewhere/target'), 'utf8')).toBe('');
  });

  it('is refused as the audit log', async () => {
    linked('audit');
    await expect(SyncedLines.open(path.join(root, 'audit'))).rejects.toThrow(LinkError);
  });
});
