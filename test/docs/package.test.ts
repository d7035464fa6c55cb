import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm pack` would put into the package. Nothing is built or written. */
function packedFiles(): string[] {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const flags = ['pack', '--dry-run', '--json', '--ignore-scripts', '--offline'];
  const text = execFileSync(npm, flags, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  const [packed] = JSON.parse(text) as { files: { path: string }[] }[];
  return (packed?.files ?? []).map((file) => file.path);
}

interface LinksScript {
  readonly baseOf: (manifest: { readonly name: string; readonly version: string }) => string;
  readonly withAbsoluteLinks: (text: string, base: string) => string;
  readonly withRelativeLinks: (text: string, base: string) => string;
}

describe('[ease 5.3] the package', () => {
  const files = packedFiles();

  it('has what its README links to', () => {
    const text = readFileSync(path.join(root, 'README.md'), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = '']) => target);
    const inside = links.filter((target) => !/^https?:/.test(target));
    const missing = inside.filter(
      (target) => !files.some((file) => file === target || file.startsWith(`${target}/`)),
    );
    expect(inside.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });

  it('has a README whose links work elsewhere, and changes nothing but links for that', async () => {
    const script = path.join(root, 'scripts/pack-readme.mjs');
    const { baseOf, withAbsoluteLinks, withRelativeLinks }: LinksScript = await import(script);
    const text = readFileSync(path.join(root, 'README.md'), 'utf8');
    const base = baseOf({ name: 'x', version: '1.2.3' });
    const packed = withAbsoluteLinks(text, base);
    const links = [...packed.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !/^(https?:|#)/.test(target))).toEqual([]);
    expect(packed).toContain('](https://app.unpkg.com/x@1.2.3/files/docs/guide/modules.md)');
    expect(withRelativeLinks(packed, base)).toBe(text);
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
    expect(scripts.prepack).toContain('pack-readme.mjs absolute');
    expect(scripts.postpack).toContain('pack-readme.mjs relative');
  });

  it('has whole examples, and nothing that was built or installed in them', () => {
    const examples = files.filter((file) => file.startsWith('examples/'));
    for (const name of ['agent', 'chat', 'helpdesk', 'live-chat']) {
      expect(examples).toContain(`examples/${name}/package.json`);
      const sources = examples.filter((file) => file.startsWith(`examples/${name}/src/`));
      expect(sources).not.toEqual([]);
    }
    expect(examples.filter((file) => /node_modules|\/dist\//.test(file))).toEqual([]);
  });

  it('has the types of globals that its template names', () => {
    expect(files).toContain('types/module-globals.d.ts');
    expect(files).toContain('templates/basic/tsconfig.json');
  });
});
