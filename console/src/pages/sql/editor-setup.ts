/** How statements are written: the extensions of the editor. */
import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLDialect, schemaCompletionSource, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import type { Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The words of the service's SQL; those of other products would colour names of columns. */
const dialect = SQLDialect.define({
  keywords:
    'all analyze and any array as asc between by case cast conflict create cross default delete ' +
    'desc describe distinct do else end escape except exists explain false filter following for ' +
    'from full group groups having in inner insert intersect interval into is join left like ' +
    'ilike limit not nothing null nulls offset on or order outer over partition preceding range ' +
    'recursive returning right rows select set show some then true unbounded union update using ' +
    'values when where window with within',
  types:
    'bool string bytes identity timestamp uuid i8 i16 i32 i64 i128 i256 u8 u16 u32 u64 u128 u256 ' +
    'f32 f64',
  doubleDollarQuotedStrings: false,
});

/** What can be completed. */
export interface Vocabulary {
  /** Names of tables, with those of their columns. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  readonly functions: readonly string[];
}

export function editorExtensions(): Extension {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    bracketMatching(),
    closeBrackets(),
    syntaxHighlighting(colours),
    look,
    placeholder('SELECT * FROM …'),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'Statement', spellcheck: 'false' }),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
  ];
}

/** The language, with the words of a database. */
export function languageOf({ tables, functions }: Vocabulary): Extension {
  const schema = Object.fromEntries(
    Object.entries(tables).map(([table, columns]) => [table, [...columns]]),
  );
  const support = sql({ dialect, upperCaseKeywords: true });
  const { language } = support;
  const ofFunctions = (context: CompletionContext) => {
    const word = context.matchBefore(/\w+/);
    if (word === null && !context.explicit) return null;
    return {
      from: word?.from ?? context.pos,
      options: functions.map((label) => ({ label, apply: `${label}(`, type: 'function' })),
      validFor: /^\w*$/,
    };
  };
  const columns = [...new Set(Object.values(tables).flat())];
  const ofColumns = (context: CompletionContext) => {
    const word = context.matchBefore(/\w+/);
    if (word === null && !context.explicit) return null;
    return {
      from: word?.from ?? context.pos,
      options: columns.map((label) => ({ label, type: 'property' })),
      validFor: /^\w*$/,
    };
  };
  return [
    support,
    language.data.of({ autocomplete: schemaCompletionSource({ dialect, schema }) }),
    language.data.of({ autocomplete: ofFunctions }),
    language.data.of({ autocomplete: ofColumns }),
    autocompletion({ icons: false }),
  ];
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent-text)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--value-special)' },
  { tag: tags.comment, color: 'var(--text-faint)', fontStyle: 'italic' },
  { tag: tags.typeName, color: 'var(--value-special)' },
]);

const selected = 'color-mix(in srgb, var(--accent) 26%, transparent)';

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--text)', background: 'var(--surface)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px' },
  '.cm-gutters': {
    background: 'var(--surface)',
    color: 'var(--text-faint)',
    border: '0',
    paddingLeft: '6px',
  },
  '.cm-activeLine, .cm-activeLineGutter': {
    background: 'color-mix(in srgb, var(--hover) 45%, transparent)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground': { background: selected },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    background: selected,
  },
  '.cm-placeholder': { color: 'var(--text-faint)' },
  '.cm-matchingBracket': { background: 'var(--accent-soft)', outline: '0' },
  '.cm-selectionMatch': { background: 'var(--mark)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger)',
    textUnderlineOffset: '3px',
  },
  '.cm-tooltip': {
    border: '1px solid var(--border)',
    borderRadius: '8px',
    background: 'var(--surface)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-high)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '240px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--accent-soft)',
    color: 'var(--accent-text)',
  },
  '.cm-diagnostic': { padding: '6px 10px', borderLeft: '3px solid var(--danger)' },
  '.cm-panels': { background: 'var(--page)', color: 'var(--text)' },
});
