import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Icon, type IconName } from '../parts/icon.tsx';
import { readDatabases } from '../service/databases.ts';
import { useLoad } from '../service/load.ts';
import type { DatabaseSchema } from '../service/schema.ts';
import type { PageEntry } from './page-entry.ts';
import styles from './palette.module.css';
import { navigate, pageAddress } from './router.tsx';

interface Goal {
  readonly name: string;
  readonly what: string;
  readonly icon: IconName;
  readonly address: string;
}

interface PaletteProps {
  readonly pages: readonly PageEntry[];
  readonly database: string | null;
  readonly schema: DatabaseSchema | undefined;
  readonly onClose: () => void;
}

const shownMax = 50;

/** Goes anywhere by a few letters: pages, databases, tables, functions. */
export function Palette({ pages, database, schema, onClose }: PaletteProps) {
  const element = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const goals = useGoals(pages, database, schema);
  const found = useMemo(() => goalsFor(text, goals), [text, goals]);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const go = (goal: Goal | undefined) => {
    if (goal === undefined) return;
    onClose();
    navigate(goal.address);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(found[at]);
    if (step === 0) return;
    event.preventDefault();
    setAt((at + step + found.length) % Math.max(1, found.length));
  };
  return (
    <dialog ref={element} className={styles.palette} aria-label="Find" onCancel={onClose}>
      <input
        className={styles.input}
        role="combobox"
        aria-label="Find pages, databases, tables and functions"
        aria-controls={id}
        aria-expanded="true"
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder="Go to…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <Found id={id} found={found} at={at} go={go} />
    </dialog>
  );
}

interface FoundProps {
  readonly id: string;
  readonly found: readonly Goal[];
  readonly at: number;
  readonly go: (goal: Goal) => void;
}

function Found({ id, found, at, go }: FoundProps) {
  const chosen = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one is chosen
  useEffect(() => {
    // Without a result: where it is a promise, it is none of the effect's.
    void chosen.current?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <div id={id} className={styles.list} role="listbox" aria-label="Places" tabIndex={-1}>
      {found.map((goal, position) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
        <div
          // A page of the host and one of a database can have one name.
          key={`${goal.what} ${goal.address}`}
          id={`${id}-${position}`}
          ref={position === at ? chosen : null}
          role="option"
          tabIndex={-1}
          aria-selected={position === at}
          className={styles.option}
          onClick={() => go(goal)}
        >
          <Icon name={goal.icon} />
          <span className={styles.name}>{goal.name}</span>
          <span className={styles.what}>{goal.what}</span>
        </div>
      ))}
      {found.length === 0 && <p className={styles.nothing}>Nothing has such a name</p>}
    </div>
  );
}

function useGoals(
  pages: readonly PageEntry[],
  database: string | null,
  schema: DatabaseSchema | undefined,
): readonly Goal[] {
  const databases = useLoad('databases', readDatabases).value;
  return useMemo(() => {
    const ofPages = pages
      .filter(({ scope }) => scope === 'host' || database !== null)
      .map((page): Goal => {
        const place = page.scope === 'host' ? null : database;
        const address = pageAddress(place, page.path);
        return {
          name: page.title,
          what: page.scope === 'host' ? 'page of the host' : 'page',
          icon: page.icon,
          address,
        };
      });
    const ofDatabases = (databases ?? []).map(({ name }): Goal => {
      return { name, what: 'database', icon: 'database', address: pageAddress(name, 'data') };
    });
    if (database === null) return [...ofPages, ...ofDatabases];
    const tables = (schema?.tables ?? []).map(({ name, kind }): Goal => {
      const icon = kind === 'view' ? 'view' : 'table';
      return { name, what: kind, icon, address: pageAddress(database, 'data', { table: name }) };
    });
    const functions = (schema?.functions ?? []).map(({ name, kind }): Goal => {
      const address = pageAddress(database, 'functions', { function: name });
      return { name, what: kind, icon: 'function', address };
    });
    return [...ofPages, ...tables, ...functions, ...ofDatabases];
  }, [pages, database, schema, databases]);
}

/** Those that have all letters in this order; the better the earlier and the closer they stand. */
function goalsFor(text: string, goals: readonly Goal[]): readonly Goal[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return goals.slice(0, shownMax);
  return goals
    .map((goal) => ({ goal, cost: costOf(wanted, goal.name.toLowerCase()) }))
    .filter(({ cost }) => cost < Number.POSITIVE_INFINITY)
    .sort((one, other) => one.cost - other.cost)
    .slice(0, shownMax)
    .map(({ goal }) => goal);
}

function costOf(wanted: string, name: string): number {
  const whole = name.indexOf(wanted);
  if (whole >= 0) return whole + (name.length - wanted.length) / 100;
  let from = 0;
  let cost = 100;
  for (const letter of wanted) {
    const found = name.indexOf(letter, from);
    if (found < 0) return Number.POSITIVE_INFINITY;
    cost += found - from;
    from = found + 1;
  }
  return cost;
}
