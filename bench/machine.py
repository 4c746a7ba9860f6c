"""What the figures were measured on: they mean nothing without it."""
import os
import subprocess


def first_match(path, label):
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(label):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def mount_of(directory):
    """(device, file system) of the mount that holds the directory."""
    best = ("", "unknown", "unknown")
    path = os.path.realpath(directory)
    with open("/proc/mounts") as mounts:
        for line in mounts:
            device, point, kind = line.split()[:3]
            inside = point == "/" or path == point or path.startswith(point + "/")
            if inside and len(point) >= len(best[0]):
                best = (point, device, kind)
    return best[1], best[2]


def read_word(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def commit(source):
    def git(*arguments):
        done = subprocess.run(["git", "-C", source, *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""
    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/src", ":/include")
    return name + ("+changes" if changed else "")


def describe(source, directory):
    device, file_system = mount_of(directory)
    block = os.path.basename(device)
    memory_kib = first_match("/proc/meminfo", "MemTotal").split()[0]
    return {
        "commit": commit(source),
        "cpu": first_match("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory_kib) / 1024 / 1024) if memory_kib.isdigit() else 0,
        "kernel": os.uname().release,
        "file_system": file_system,
        "disk": block,
        "disk_cache": read_word(f"/sys/block/{block}/queue/write_cache"),
        "load_average_start": os.getloadavg()[0],
    }


def text(about):
    return (f"{about['cores']} x {about['cpu']}, {about['memory_gib']} GiB, "
            f"Linux {about['kernel']}, {about['file_system']} on {about['disk']} "
            f"(cache: {about['disk_cache']}), commit {about['commit']}, "
            f"load {about['load_average_start']:.1f}..{about.get('load_average_end', 0):.1f}, "
            f"{about.get('seconds', 0)} s")
