// Intrusive doubly-linked list with a sentinel: O(1) unlink without knowing the list, no
// allocation, O(1) splice. T holds one ListLink per list it can be in. Nodes are not owned.
#pragma once

#include "base/check.h"

namespace wq {

struct ListLink {
  ListLink* prev = nullptr;
  ListLink* next = nullptr;

  bool linked() const { return next != nullptr; }
  void unlink() {
    prev->next = next;
    next->prev = prev;
    prev = next = nullptr;
  }
};

template <typename T, ListLink T::*link>
class IntrusiveList {
 public:
  IntrusiveList() { root_.prev = root_.next = &root_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return root_.next == &root_; }
  T* front() const { return empty() ? nullptr : owner(root_.next); }
  T* back() const { return empty() ? nullptr : owner(root_.prev); }
  T* next(const T* node) const {
    ListLink* following = (node->*link).next;
    return following == &root_ ? nullptr : owner(following);
  }

  void push_back(T* node) { insert_before(&root_, node); }
  void push_front(T* node) { insert_before(root_.next, node); }

  T* pop_front() {
    T* node = front();
    if (node) (node->*link).unlink();
    return node;
  }

  // Moves all of `other` behind the last node of this list.
  void splice_back(IntrusiveList& other) {
    if (other.empty()) return;
    move_chain(other.root_.next, other.root_.prev, other);
  }

  // Moves `first` and everything behind it from `other` behind the last node of this list.
  void splice_back_from(IntrusiveList& other, T* first) {
    move_chain(&(first->*link), other.root_.prev, other);
  }

 private:
  // The offset of a member is not portable through a pointer to member, but every compiler that wq
  // supports lays a plain member out at a fixed offset; the cast is the usual container_of.
  static T* owner(ListLink* node) {
    alignas(T) static char probe[sizeof(T)];
    const auto offset = reinterpret_cast<char*>(&(reinterpret_cast<T*>(probe)->*link)) - probe;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(node) - offset);
  }

  void insert_before(ListLink* place, T* node) {
    ListLink& added = node->*link;
    WQ_INVARIANT(!added.linked());
    added.prev = place->prev;
    added.next = place;
    place->prev->next = &added;
    place->prev = &added;
  }

  void move_chain(ListLink* first, ListLink* last, IntrusiveList&) {
    first->prev->next = last->next;
    last->next->prev = first->prev;
    first->prev = root_.prev;
    last->next = &root_;
    root_.prev->next = first;
    root_.prev = last;
  }

  ListLink root_;
};

}  // namespace wq
