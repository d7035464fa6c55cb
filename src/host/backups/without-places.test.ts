import { expect, it } from 'vitest';
import { BackupError } from '../../backup/backup-error.ts';
import { errorForCaller, withoutPlaces } from './without-places.ts';

const repository = { name: 'near', url: '/var/backups', recipients: [] };
const places = { directory: '/srv/data', repository };

it('[history 5.27] callers are not told where files of the service are', () => {
  const cases = [
    [
      "EEXIST: file already exists, open '/srv/data/databases/c2/static/0ca9'",
      "EEXIST: file already exists, open 'the data folder of the service'",
    ],
    [
      'make room in /srv/data/databases/c2, and restore again',
      'make room in the data folder of the service, and restore again',
    ],
    ['/var/backups is no backup repository', 'the repository near is no backup repository'],
    ['/srv/database and /var/backups2 are others', '/srv/database and /var/backups2 are others'],
  ] as const;
  for (const [text, shown] of cases) expect(withoutPlaces(text, places)).toBe(shown);
});

it('[history 5.27] the service log has the whole text of what was hidden, and nothing else', () => {
  const lines: string[] = [];
  const report = ({ message }: { readonly message: string }) => void lines.push(message);
  const plain = new BackupError('backup.unknown', 'the repository holds no backup 12');
  expect(errorForCaller(plain, places, report)).toBe(plain);
  expect(lines).toEqual([]);
  const shown = errorForCaller(new BackupError('backup.source', 'no /srv/data/x'), places, report);
  expect(shown).toMatchObject({
    code: 'backup.source',
    message: 'no the data folder of the service',
  });
  expect(lines).toEqual(['A backup or a restore failed: no /srv/data/x']);
});
