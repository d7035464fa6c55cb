import type { KeyboardEvent } from 'react';
import { Input, Select, TextArea } from '../../parts/field.tsx';
import { unitNames, whyNoLiteral } from '../../service/literals.ts';
import { typeName, type ValueType } from '../../service/types.ts';

interface ValueInputProps {
  readonly type: ValueType;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
  readonly id?: string;
  readonly label?: string;
  readonly isWrong?: boolean;
  readonly isFocused?: boolean;
  /** More than one line for long texts; not in a cell of the grid. */
  readonly isRoomy?: boolean;
}

/** The control for a value of a type: a choice, a number, a text, a time, hex digits. */
export function ValueInput(props: ValueInputProps) {
  const { type, text, onChange, onKeyDown, id, label, isWrong, isFocused, isRoomy } = props;
  const inner = type.kind === 'option' ? type.some() : type;
  const control = {
    ...(id === undefined ? {} : { id }),
    ...(label === undefined ? {} : { 'aria-label': label }),
    ...(isWrong === true ? { 'aria-invalid': true as const } : {}),
    ...(onKeyDown === undefined ? {} : { onKeyDown }),
    // It was opened to type in.
    autoFocus: isFocused === true,
  };
  const choices = choicesOf(inner);
  if (choices !== null) {
    return (
      <Select {...control} value={text} onChange={(event) => onChange(event.target.value)}>
        {(type.kind === 'option' || !choices.includes(text)) && <option value="">–</option>}
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </Select>
    );
  }
  const change = { value: text, placeholder: placeholderOf(type) };
  if (isRoomy === true && inner.kind === 'string') {
    return (
      <TextArea
        {...control}
        {...change}
        isData
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <Input
      {...control}
      {...change}
      isData
      readOnly={whyNoLiteral(type) !== null}
      inputMode={inner.kind === 'integer' || inner.kind === 'float' ? 'decimal' : 'text'}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function choicesOf(type: ValueType): readonly string[] | null {
  if (type.kind === 'bool') return ['true', 'false'];
  const names = unitNames(type);
  return names.length > 0 ? names : null;
}

function placeholderOf(type: ValueType): string {
  if (type.kind === 'option') return 'none';
  const examples: Partial<Record<ValueType['kind'], string>> = {
    timestamp: '2026-02-17T10:30:45Z',
    duration: '2h, or PT1H30M',
    bytes: '0xab12',
    identity: '0xc200…, 64 digits',
    uuid: '018867c5-d400-7321-8a9b-0c1d2e3f4051',
    array: '[1, 2]',
  };
  return examples[type.kind] ?? (type.kind === 'string' ? '' : typeName(type));
}
