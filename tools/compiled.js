// Keeps what V8 has compiled of a program's modules, to be required before it: such programs take most of their time to
// be read. COMPILED_CACHE names the file. It holds, of each module, what was compiled by the end of a run; a module whose
// text has changed is compiled anew, and so is all of it by another Node.js. Runs may share it: the last that had to
// compile something writes it, as a whole. Programs that the program starts have none.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { createHash } = require('crypto');
const Module = require('module');
const { deserialize, serialize } = require('v8');

const named = process.env.COMPILED_CACHE;
delete process.env.COMPILED_CACHE;
const file = `${named}-${process.version}-${process.arch}`;
const compiled = new Map(); // by file and text: {data}, or {script} of what was compiled in this run
let missed = 0;

if (named) try {
	for (const [key, data] of deserialize(fs.readFileSync(file))) compiled.set(key, { data });
} catch {
	// it is the first run
}

const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

function load(text, filename) {
	const key = `${filename} ${createHash('sha1').update(text).digest('base64')}`;
	const known = compiled.get(key);
	const script = new vm.Script(Module.wrap(text), { filename, cachedData: known?.data, importModuleDynamically });
	if (!known || script.cachedDataRejected) {
		missed++;
		compiled.set(key, { script });
	}
	return script.runInThisContext();
}

const original = Module.prototype._compile;
if (named && importModuleDynamically) Module.prototype._compile = function (text, filename, ...rest) {
	if (rest.some((r) => r !== undefined && r !== 'commonjs')) return original.call(this, text, filename, ...rest);
	const own = (request) => this.require(request);
	own.resolve = (request, options) => Module._resolveFilename(request, this, false, options);
	own.resolve.paths = (request) => Module._resolveLookupPaths(request, this);
	own.main = process.mainModule;
	own.extensions = Module._extensions;
	own.cache = Module._cache;
	const run = load(text.replace(/^#!.*/, ''), filename);
	return run.call(this.exports, this.exports, own, this, filename, path.dirname(filename));
};

process.on('exit', () => {
	if (!missed) return;
	try {
		const entries = [...compiled].map(([key, { data, script }]) => [key, data ?? script.createCachedData()]);
		fs.mkdirSync(path.dirname(file), { recursive: true });
		fs.writeFileSync(`${file}.${process.pid}`, serialize(entries));
		fs.renameSync(`${file}.${process.pid}`, file);
	} catch {
		// the next run compiles it again
	}
});
