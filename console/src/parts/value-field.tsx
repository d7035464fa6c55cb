import type { ReactNode } from 'react';
import { type Field as FieldType, isEnum, typeName, type ValueType } from '../service/types.ts';
import { Button } from './button.tsx';
import { Field, Input, Select, Switch, TextArea } from './field.tsx';
import styles from './value-field.module.css';
import { below, type Draft, type DraftFault, emptyDraft, exampleOf } from './value-input.ts';

interface ValueFieldProps {
  readonly label: string;
  readonly type: ValueType;
  readonly draft: Draft | undefined;
  readonly onChange: (draft: Draft) => void;
  /** Where it is, as its faults name it. */
  readonly path: string;
  readonly faults: readonly DraftFault[];
  /** What the author wrote about it. */
  readonly about?: string | undefined;
}

const depthMax = 12;

/** A form field for a value of any type, with fields inside for what is inside the value. */
export function ValueField(props: ValueFieldProps) {
  const { label, type, draft, onChange, path, about } = props;
  if (path.split('/').length > depthMax)
    return <p className={styles.about}>Too deep for a form.</p>;
  switch (type.kind) {
    case 'bool':
      return (
        <Group label={label} type={type} about={about} isPlain>
          <Switch
            label={draft === true ? 'true' : 'false'}
            isOn={draft === true}
            onChange={onChange}
          />
        </Group>
      );
    case 'unit':
      return null;
    case 'option':
      return <OptionField {...props} some={type.some()} />;
    case 'array':
      return <ListField {...props} item={type.item()} />;
    case 'product':
      return (
        <Group label={label} type={type} about={about}>
          <Fields {...props} fields={type.fields()} />
        </Group>
      );
    case 'sum':
      return <VariantField {...props} variants={type.variants()} />;
    default:
      return <TextField {...props} />;
  }
}

interface FieldsProps extends Omit<ValueFieldProps, 'label' | 'type' | 'about'> {
  readonly fields: readonly FieldType[];
  /** What the author wrote about each, by its name. */
  readonly abouts?: Readonly<Record<string, string>>;
}

/** The fields of a product, such as the parameters of a function. */
export function Fields({ fields, draft, onChange, path, faults, abouts }: FieldsProps) {
  const given = typeof draft === 'object' && draft.kind === 'fields' ? draft.fields : {};
  return fields.map(({ name, type }) => (
    <ValueField
      key={name}
      label={name}
      type={type}
      draft={given[name]}
      onChange={(next) => onChange({ kind: 'fields', fields: { ...given, [name]: next } })}
      path={below(path, name)}
      faults={faults}
      about={abouts?.[name]}
    />
  ));
}

function TextField({ label, type, draft, onChange, path, faults, about }: ValueFieldProps) {
  const text = typeof draft === 'string' ? draft : '';
  const isLong = type.kind === 'string' || type.kind === 'bytes';
  const isNumber = type.kind === 'integer' || type.kind === 'float';
  return (
    <Field label={label} note={typeName(type)} error={faultAt(faults, path)}>
      {(control) => (
        <>
          {about !== undefined && <p className={styles.about}>{about}</p>}
          <div className={styles.line}>
            {isLong ? (
              <TextArea
                {...control}
                isData
                className={styles.text}
                rows={Math.min(8, text.split('\n').length)}
                placeholder={exampleOf(type)}
                value={text}
                onChange={(event) => onChange(event.target.value)}
              />
            ) : (
              <Input
                {...control}
                isData
                inputMode={isNumber ? 'numeric' : 'text'}
                placeholder={exampleOf(type)}
                value={text}
                onChange={(event) => onChange(event.target.value)}
              />
            )}
            {type.kind === 'timestamp' && (
              <Button onClick={() => onChange(new Date().toISOString())}>Now</Button>
            )}
            {type.kind === 'uuid' && (
              <Button onClick={() => onChange(crypto.randomUUID())}>New</Button>
            )}
          </div>
        </>
      )}
    </Field>
  );
}

function OptionField(props: ValueFieldProps & { readonly some: ValueType }) {
  const { label, type, some, draft, onChange, path, faults, about } = props;
  const isSome = typeof draft === 'object' && draft.kind === 'some';
  const turn = (isOn: boolean) => {
    onChange(isOn ? { kind: 'some', value: emptyDraft(some) } : { kind: 'none' });
  };
  return (
    <Group label={label} type={type} about={about} isPlain={!isSome}>
      <Switch label={isSome ? 'has a value' : 'none'} isOn={isSome} onChange={turn} />
      {isSome && (
        <ValueField
          label="value"
          type={some}
          draft={draft.value}
          onChange={(value) => onChange({ kind: 'some', value })}
          path={below(path, 'some')}
          faults={faults}
        />
      )}
    </Group>
  );
}

function ListField(props: ValueFieldProps & { readonly item: ValueType }) {
  const { label, type, item, draft, onChange, path, faults, about } = props;
  const items = typeof draft === 'object' && draft.kind === 'list' ? draft.items : [];
  const put = (next: readonly Draft[]) => onChange({ kind: 'list', items: next });
  return (
    <Group label={label} type={type} about={about}>
      {items.map((each, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item has no other name than its place
        <div key={at} className={styles.item}>
          <div>
            <ValueField
              label={`item ${at + 1}`}
              type={item}
              draft={each}
              onChange={(next) => put(items.with(at, next))}
              path={below(path, at)}
              faults={faults}
            />
          </div>
          <Button
            kind="plain"
            size="small"
            icon="close"
            aria-label={`Remove item ${at + 1} of ${label}`}
            onClick={() => put(items.toSpliced(at, 1))}
          />
        </div>
      ))}
      <div>
        <Button size="small" icon="plus" onClick={() => put([...items, emptyDraft(item)])}>
          Add an item to {label}
        </Button>
      </div>
    </Group>
  );
}

function VariantField(props: ValueFieldProps & { readonly variants: readonly FieldType[] }) {
  const { label, type, variants, draft, onChange, path, faults, about } = props;
  const name = typeof draft === 'object' && draft.kind === 'variant' ? draft.name : '';
  const variant = variants.find((each) => each.name === name);
  const choose = (chosen: string) => {
    const found = variants.find((each) => each.name === chosen);
    if (found === undefined) return;
    onChange({ kind: 'variant', name: chosen, payload: emptyDraft(found.type) });
  };
  const choice = (
    <Field
      label={isEnum(type) ? label : 'variant'}
      note={typeName(type)}
      error={faultAt(faults, path)}
    >
      {(control) => (
        <>
          {isEnum(type) && about !== undefined && <p className={styles.about}>{about}</p>}
          <Select {...control} value={name} onChange={(event) => choose(event.target.value)}>
            {variant === undefined && <option value="">Choose …</option>}
            {variants.map((each) => (
              <option key={each.name} value={each.name}>
                {each.name}
              </option>
            ))}
          </Select>
        </>
      )}
    </Field>
  );
  if (isEnum(type)) return choice;
  return (
    <Group label={label} type={type} about={about}>
      {choice}
      {variant !== undefined && (
        <ValueField
          label={variant.name}
          type={variant.type}
          draft={typeof draft === 'object' && draft.kind === 'variant' ? draft.payload : undefined}
          onChange={(payload) => onChange({ kind: 'variant', name: variant.name, payload })}
          path={below(path, variant.name)}
          faults={faults}
        />
      )}
    </Group>
  );
}

interface GroupProps {
  readonly label: string;
  readonly type: ValueType;
  readonly about?: string | undefined;
  /** Without the line that holds its fields together. */
  readonly isPlain?: boolean;
  readonly children: ReactNode;
}

function Group({ label, type, about, isPlain, children }: GroupProps) {
  return (
    <fieldset className={styles.group}>
      <legend className={styles.legend}>
        {label} <span className={styles.type}>{typeName(type)}</span>
      </legend>
      {about !== undefined && <p className={styles.about}>{about}</p>}
      <div className={isPlain === true ? styles.plain : styles.inside}>{children}</div>
    </fieldset>
  );
}

function faultAt(faults: readonly DraftFault[], path: string): string | undefined {
  return faults.find((each) => each.path === path)?.text;
}
