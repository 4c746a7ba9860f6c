#!/usr/bin/env node
'use strict';
// build.js: builds the addon with the C compiler of the system; nothing is downloaded.
//
//   node build.js [--out DIR] [--strict] [--debug] [--if-needed]     node build.js --headers
//
// DIR/wq.node is the result; default: build/Release here. --strict makes warnings errors, --debug
// builds with the sanitizer of addresses, --if-needed does nothing if a prebuilt addon is there,
// --headers only tells where the headers of Node are.
// CC and CFLAGS are respected. The library is looked for in the build tree $WQ_BUILD_DIR, then by
// pkg-config. From its wq.h the tables of structs and constants are made that lib/ works with: an
// addon knows the fields of the header it was built with, no others.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const SOURCES = ['module.c', 'op.c', 'ops_jobs.c', 'ops_store.c', 'store.c', 'threads.c', 'wire.c'];

function fail(message) {
  console.error(`wq: ${message}`);
  process.exit(1);
}

function findNodeHeaders() {
  const prefix = path.dirname(path.dirname(fs.realpathSync(process.execPath)));
  const candidates = [
    process.env.WQ_NODE_HEADERS,
    process.env.npm_config_nodedir && path.join(process.env.npm_config_nodedir, 'include/node'),
    path.join(prefix, 'include/node'),
    path.join(process.config.variables.node_prefix || '/', 'include/node'),
    '/usr/include/node',
    '/usr/include/nodejs/src',
  ];
  const found = candidates.find((dir) => dir && fs.existsSync(path.join(dir, 'node_api.h')));
  if (!found) {
    fail('no node_api.h beside the node binary; install the headers (Debian: libnode-dev), or ' +
         'set WQ_NODE_HEADERS to their directory');
  }
  return found;
}

function libraryOfTree(tree) {
  const cache = path.join(tree, 'CMakeCache.txt');
  const library = ['lib/libwq.so', 'src/libwq.so'].map((name) => path.join(tree, name))
    .find((name) => fs.existsSync(name));
  if (!library) fail(`WQ_BUILD_DIR: no lib/libwq.so in ${tree}; build the target wq_shared`);
  const home = /^CMAKE_HOME_DIRECTORY:\w+=(.*)$/m.exec(fs.readFileSync(cache, 'utf8'));
  return { include: path.join(home[1], 'include'), directory: path.dirname(library) };
}

function libraryOfPkgConfig() {
  const ask = (...args) => execFileSync('pkg-config', [...args, 'wq'], { encoding: 'utf8' }).trim();
  try {
    return { include: ask('--variable=includedir'), directory: ask('--variable=libdir') };
  } catch {
    return fail('the library is not found: install it (cmake --install), and let PKG_CONFIG_PATH ' +
                'name its lib/pkgconfig; or set WQ_BUILD_DIR to a build tree');
  }
}

// ---- the tables ----

const KINDS = {
  uint32_t: 'KIND_U32', int32_t: 'KIND_I32', uint64_t: 'KIND_U64', int64_t: 'KIND_I64',
  size_t: 'KIND_U64', double: 'KIND_F64', wq_bytes: 'KIND_BYTES',
};

function parseFields(body) {
  const fields = [];
  for (const line of body.split(';').map((text) => text.trim()).filter(Boolean)) {
    const match = /^((?:const |struct )*\w+)\s*(.*)$/s.exec(line);
    const type = match[1].replace(/^(const |struct )+/, '');
    for (const part of match[2].split(',').map((text) => text.trim())) {
      const [, star, name, array] = /^(\*?)\s*(?:const )?(\w+)(\[\w+\])?$/.exec(part);
      let kind = KINDS[type] || 'KIND_PTR';
      if (star) kind = 'KIND_PTR';
      else if (array) kind = type === 'char' ? 'KIND_CHARS' : 'KIND_I64S';
      fields.push({ name, kind, target: star ? type : '' });
    }
  }
  return fields;
}

function parseHeader(text) {
  const plain = text.replace(/\/\*.*?\*\//gs, ' ');
  const structs = [];
  for (const [, name, body] of plain.matchAll(/typedef struct (wq_\w+) \{([^}]*)\}/g)) {
    structs.push({ name, fields: parseFields(body) });
  }
  const constants = [];
  for (const [, name] of plain.matchAll(/^#define (WQ_[A-Z0-9_]+) +[\d(-]/gm)) {
    if (name !== 'WQ_ABI_VERSION') constants.push(name);
  }
  if (structs.length < 20 || constants.length < 100) fail('wq.h: not understood');
  return { structs, constants };
}

function writeTables(header, directory) {
  const { structs, constants } = parseHeader(fs.readFileSync(header, 'utf8'));
  const ids = structs.map(({ name }) => `LAYOUT_${name}`).concat('LAYOUT_count');
  fs.writeFileSync(path.join(directory, 'wqn_layout_ids.h'),
    `enum {\n  ${ids.join(',\n  ')}\n};\n`);
  const out = ['#include "wqn.h"', ''];
  const known = new Set(structs.map(({ name }) => name));
  for (const { name, fields } of structs) {
    const names = new Set(fields.map((field) => field.name));
    out.push(`static const wqn_field fields_of_${name}[] = {`);
    for (const field of fields) {
      // A pointer to structs: to so many as the field beside it says, or to one.
      const target = known.has(field.target) ? `LAYOUT_${field.target}` : -1;
      const count = names.has(`${field.name}_count`) ? `${field.name}_count` : '';
      out.push(`    {"${field.name}", offsetof(${name}, ${field.name}), ` +
               `sizeof(((${name} *)0)->${field.name}), ${field.kind}, ${target}, ` +
               `${count ? `offsetof(${name}, ${count})` : -1}},`);
    }
    out.push('};');
  }
  out.push('const wqn_layout wqn_layouts[] = {');
  for (const { name, fields } of structs) {
    out.push(`    {"${name}", sizeof(${name}), ${fields.length}, fields_of_${name}},`);
  }
  out.push('};', 'const wqn_constant wqn_constants[] = {');
  for (const name of constants) out.push(`    {"${name}", (int64_t)(${name})},`);
  out.push('};', `const size_t wqn_constants_count = ${constants.length};`, '');
  fs.writeFileSync(path.join(directory, 'wqn_tables.c'), out.join('\n'));
}

// ---- the addon ----

function compile(out, options) {
  const library = process.env.WQ_BUILD_DIR
    ? libraryOfTree(path.resolve(process.env.WQ_BUILD_DIR)) : libraryOfPkgConfig();
  const header = path.join(library.include, 'wq.h');
  fs.mkdirSync(out, { recursive: true });
  writeTables(header, out);
  const target = path.join(out, 'wq.node');
  const flags = ['-std=gnu11', '-fPIC', '-shared', '-fvisibility=hidden', '-pthread', '-g',
    '-Wall', '-Wextra', '-Wconversion', '-Wshadow'];
  if (options.strict) flags.push('-Werror');
  if (options.debug) flags.push('-O1', '-fsanitize=address', '-fno-omit-frame-pointer');
  else flags.push('-O2');
  flags.push(...(process.env.CFLAGS || '').split(' ').filter(Boolean));
  const sources = SOURCES.map((name) => path.join(__dirname, 'src', name));
  const args = [...flags, '-I', path.join(__dirname, 'src'), '-I', out, '-isystem',
    library.include, '-isystem', findNodeHeaders(), ...sources, path.join(out, 'wqn_tables.c'),
    // It is never unloaded: the library below has threads of its own.
    '-Wl,-z,nodelete', `-L${library.directory}`, `-Wl,-rpath,${library.directory}`, '-lwq',
    '-o', `${target}.new`];
  try {
    execFileSync(process.env.CC || 'cc', args, { stdio: 'inherit' });
  } catch (error) {
    fail(error.code === 'ENOENT' ? `no C compiler: ${process.env.CC || 'cc'}` : 'not built');
  }
  fs.renameSync(`${target}.new`, target);
  return target;
}

function main(argv) {
  const options = { strict: argv.includes('--strict'), debug: argv.includes('--debug') };
  if (argv.includes('--headers')) {
    console.log(findNodeHeaders());
    return;
  }
  const at = argv.indexOf('--out');
  const out = path.resolve(at < 0 ? path.join(__dirname, 'build/Release') : argv[at + 1]);
  const prebuilt = path.join(__dirname, 'prebuilds', `${process.platform}-${process.arch}`,
    'wq.node');
  if (argv.includes('--if-needed') && fs.existsSync(prebuilt)) return;
  console.log(compile(out, options));
}

main(process.argv.slice(2));
