import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { variableOf } from '../../src/service/setting.ts';
import { settings } from '../../src/service/settings.ts';
import { root } from '../service/harness.ts';

/** The table of the guide, as the settings themselves make it. */
function settingsTable(): string {
  const rows = settings.map((setting) => {
    const { key, flag, help, otherwise } = setting;
    return `| \`${key}\` | \`--${flag}\` | ${otherwise} | ${help} |`;
  });
  return ['| in `config.toml` | flag | default | meaning |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
}

const guide = readFileSync(path.join(root, 'docs/guide/operating.md'), 'utf8');

it('[cli 8.2] the guide to operating has every setting, as it is', () => {
  expect(guide).toContain(settingsTable());
});

it('[cli 8.2] the guide tells how a variable is called', () => {
  const [example] = settings.filter(({ flag }) => flag === 'publish-policy');
  expect(guide).toContain(`\`${example && variableOf(example)}\``);
});
